// Extent arithmetic: canonical polynomials, interning, floor division, proofs and printing.
#include "ir/shape/extent.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/support/name_characters.h"
#include "sinter/error.h"

namespace sinter {

namespace {

ExtentTable* table_of(Extent a, Extent b) {
  ExtentTable* first = a.is_number() ? nullptr : a.expression()->table;
  ExtentTable* second = b.is_number() ? nullptr : b.expression()->table;
  if (first && second && first != second)
    throw UserError(fmt::format("extents {} and {} belong to two graphs; take both from one",
                                to_string(a), to_string(b)));
  return first ? first : second;
}

std::int64_t checked_result(std::int64_t a, std::int64_t b, char op) {
  std::int64_t result = 0;
  const bool overflow =
      op == '+' ? __builtin_add_overflow(a, b, &result) : __builtin_mul_overflow(a, b, &result);
  if (overflow) throw UserError(fmt::format("extent {} {} {} does not fit in 64 bits", a, op, b));
  return result;
}

bool atoms_less(const std::vector<const ExtentAtom*>& a, const std::vector<const ExtentAtom*>& b) {
  return std::ranges::lexicographical_compare(
      a, b, [](const ExtentAtom* x, const ExtentAtom* y) { return x->id < y->id; });
}

std::vector<ExtentTerm> canonical(std::vector<ExtentTerm> terms) {
  std::ranges::sort(
      terms, [](const ExtentTerm& a, const ExtentTerm& b) { return atoms_less(a.atoms, b.atoms); });
  std::vector<ExtentTerm> result;
  for (ExtentTerm& term : terms) {
    if (!result.empty() && result.back().atoms == term.atoms)
      result.back().coefficient = checked_result(result.back().coefficient, term.coefficient, '+');
    else
      result.push_back(std::move(term));
  }
  std::erase_if(result, [](const ExtentTerm& term) { return term.coefficient == 0; });
  return result;
}

Extent make_extent(ExtentTable* table, std::vector<ExtentTerm> terms) {
  terms = canonical(std::move(terms));
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms[0].atoms.empty()) return terms[0].coefficient;
  return table->intern(std::move(terms));
}

ExtentTerm multiply(const ExtentTerm& a, const ExtentTerm& b) {
  ExtentTerm result{.atoms = a.atoms,
                    .coefficient = checked_result(a.coefficient, b.coefficient, '*')};
  result.atoms.insert(result.atoms.end(), b.atoms.begin(), b.atoms.end());
  std::ranges::sort(result.atoms, {}, [](const ExtentAtom* atom) { return atom->id; });
  return result;
}

/// term / divisor; nullopt unless the divisor's coefficient and atoms divide the term.
std::optional<ExtentTerm> divide(const ExtentTerm& term, const ExtentTerm& divisor) {
  // -2^63 / -1 is the only 64-bit quotient that overflows; the checked product throws then.
  if (divisor.coefficient == -1) checked_result(term.coefficient, -1, '*');
  if (term.coefficient % divisor.coefficient != 0) return std::nullopt;
  ExtentTerm result{.atoms = term.atoms, .coefficient = term.coefficient / divisor.coefficient};
  for (const ExtentAtom* atom : divisor.atoms) {
    auto found = std::ranges::find(result.atoms, atom);
    if (found == result.atoms.end()) return std::nullopt;
    result.atoms.erase(found);
  }
  return result;
}

/// False if a and b are numbers whose product overflows 64 bits.
bool fits_product(Extent a, Extent b) {
  std::int64_t product = 0;
  return !a.is_number() || !b.is_number() ||
         !__builtin_mul_overflow(a.number(), b.number(), &product);
}

std::string to_string(const ExtentAtom& atom) {
  if (!atom.name.empty()) return atom.name;
  return fmt::format("floor_div({}, {})", to_string(atom.numerator), to_string(atom.divisor));
}

/// The product of a term's atoms. The names are in alphabetical order, not in order of creation,
/// so that the text does not depend on which symbol was created first.
std::string to_string(const std::vector<const ExtentAtom*>& atoms) {
  std::vector<std::string> names;
  for (const ExtentAtom* atom : atoms) names.push_back(to_string(*atom));
  std::ranges::sort(names);
  return fmt::format("{}", fmt::join(names, " * "));
}

bool is_name(std::string_view text) {
  return !text.empty() && !is_digit(text[0]) && std::ranges::all_of(text, is_name_character);
}

std::array<std::uintptr_t, 5> operation_key(char operation, Extent a, Extent b) {
  const auto pointer = [](Extent extent) {
    return reinterpret_cast<std::uintptr_t>(extent.expression());
  };
  return {static_cast<std::uintptr_t>(operation), static_cast<std::uintptr_t>(a.number()),
          pointer(a), static_cast<std::uintptr_t>(b.number()), pointer(b)};
}

/// 1 plus the sizes of all atoms in `extent`.
int size_of(Extent extent) {
  int size = 1;
  for (const ExtentTerm& term : terms_of(extent))
    for (const ExtentAtom* atom : term.atoms) size += atom->size;
  return size;
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t part) {
  hash = (hash ^ part) * 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 33);
}

std::uint64_t terms_hash(const std::vector<ExtentTerm>& terms) {
  std::uint64_t hash = 0;
  for (const ExtentTerm& term : terms) {
    hash = mixed(hash, static_cast<std::uint64_t>(term.coefficient));
    for (const ExtentAtom* atom : term.atoms)
      hash = mixed(hash, static_cast<std::uint64_t>(atom->id) + 1);
  }
  return hash;
}

}  // namespace

bool ExtentTable::Less::operator()(const std::unique_ptr<ExtentExpression>& a,
                                   const std::unique_ptr<ExtentExpression>& b) const {
  return std::ranges::lexicographical_compare(a->terms, b->terms,
                                              [](const ExtentTerm& x, const ExtentTerm& y) {
                                                if (x.coefficient != y.coefficient)
                                                  return x.coefficient < y.coefficient;
                                                return atoms_less(x.atoms, y.atoms);
                                              });
}

Extent ExtentTable::symbol(std::string_view name) {
  const auto known = symbol_by_name_.find(name);
  if (known != symbol_by_name_.end()) return intern({{.atoms = {known->second}, .coefficient = 1}});
  if (!is_name(name) || name == "floor_div" || name == "inf" || name == "nan" || name == "true" ||
      name == "false")
    throw UserError(
        fmt::format("extent '{}': a symbol name consists of letters, digits and _ and is not "
                    "floor_div, inf, nan, true or false",
                    name));
  // The ids of symbols are below those of quotients, so they can be indices into `symbols_`.
  atoms_.push_back(std::make_unique<ExtentAtom>(ExtentAtom{.id = static_cast<int>(symbols_.size()),
                                                           .name = std::string(name),
                                                           .numerator = {},
                                                           .divisor = {}}));
  symbols_.push_back(atoms_.back().get());
  symbol_by_name_.emplace(symbols_.back()->name, symbols_.back());
  return intern({{.atoms = {symbols_.back()}, .coefficient = 1}});
}

Extent ExtentTable::intern(std::vector<ExtentTerm> terms) {
  // Real shapes stay far below these limits. Without them a small program could build expressions
  // of unbounded size.
  constexpr std::size_t kMaxTerms = 64;
  constexpr std::size_t kMaxDegree = 32;
  const auto throw_limit = [](const char* what, std::size_t count, const char* of,
                              std::size_t most) {
    throw UserError(
        fmt::format("an extent is a {} of {} {}, but at most {} are supported; simplify the shape",
                    what, count, of, most));
  };
  if (terms.size() > kMaxTerms) throw_limit("sum", terms.size(), "products", kMaxTerms);
  for (const ExtentTerm& term : terms)
    if (term.atoms.size() > kMaxDegree)
      throw_limit("product", term.atoms.size(), "symbols", kMaxDegree);
  auto expression = std::make_unique<ExtentExpression>();
  expression->table = this;
  expression->terms = std::move(terms);
  expression->hash = terms_hash(expression->terms);
  return Extent::of(expressions_.insert(std::move(expression)).first->get());
}

const ExtentAtom* ExtentTable::quotient(Extent numerator, Extent divisor) {
  const Operation operation = operation_key('/', numerator, divisor);
  const auto known = quotients_.find(operation);
  if (known != quotients_.end()) return known->second;
  constexpr int kMaxSize = 256;
  const int size = size_of(numerator) + size_of(divisor);
  if (size > kMaxSize)
    throw UserError(
        fmt::format("an extent is a quotient of {} parts, but at most {} are supported; "
                    "simplify the shape",
                    size, kMaxSize));
  constexpr int kAfterSymbols = 1 << 20;
  const int id = kAfterSymbols + static_cast<int>(atoms_.size());
  atoms_.push_back(std::make_unique<ExtentAtom>(
      ExtentAtom{.id = id, .name = {}, .numerator = numerator, .divisor = divisor, .size = size}));
  quotients_.emplace(operation, atoms_.back().get());
  return atoms_.back().get();
}

std::size_t ExtentTable::Hash::operator()(const Operation& operation) const {
  std::uint64_t hash = 0;
  for (const std::uintptr_t part : operation) hash = mixed(hash, part);
  return hash;
}

std::optional<Extent> ExtentTable::cached_result(char operation, Extent a, Extent b) const {
  const auto found = results_.find(operation_key(operation, a, b));
  return found == results_.end() ? std::nullopt : std::optional(found->second);
}

Extent ExtentTable::cache_result(char operation, Extent a, Extent b, Extent result) {
  results_.emplace(operation_key(operation, a, b), result);
  return result;
}

std::vector<ExtentTerm> terms_of(Extent extent) {
  if (!extent.is_number()) return extent.expression()->terms;
  if (extent.number() == 0) return {};
  return {{.atoms = {}, .coefficient = extent.number()}};
}

Extent Extent::general_sum(Extent a, Extent b) {
  if (a.is_number() && b.is_number()) return checked_result(a.number(), b.number(), '+');
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  ExtentTable* const table = table_of(a, b);
  if (const std::optional<Extent> cached = table->cached_result('+', a, b)) return *cached;
  std::vector<ExtentTerm> terms = terms_of(a);
  for (const ExtentTerm& term : terms_of(b)) terms.push_back(term);
  return table->cache_result('+', a, b, make_extent(table, std::move(terms)));
}

Extent Extent::general_product(Extent a, Extent b) {
  if (a.is_number() && b.is_number()) return checked_result(a.number(), b.number(), '*');
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  ExtentTable* const table = table_of(a, b);
  if (const std::optional<Extent> cached = table->cached_result('*', a, b)) return *cached;
  std::vector<ExtentTerm> terms;
  for (const ExtentTerm& x : terms_of(a))
    for (const ExtentTerm& y : terms_of(b)) terms.push_back(multiply(x, y));
  return table->cache_result('*', a, b, make_extent(table, std::move(terms)));
}

std::optional<Extent> divide_exactly(Extent a, Extent b) {
  if (a.is(0)) return Extent(0);
  if (a.is_number() && b.is_number() && b.number() > 0)
    return a.number() % b.number() == 0 ? std::optional<Extent>(a.number() / b.number())
                                        : std::nullopt;
  const std::vector<ExtentTerm> divisors = terms_of(b);
  if (divisors.empty()) return std::nullopt;
  if (a == b) return Extent(1);
  if (divisors.size() != 1) return std::nullopt;
  std::vector<ExtentTerm> quotient;
  for (const ExtentTerm& term : terms_of(a)) {
    std::optional<ExtentTerm> part = divide(term, divisors[0]);
    if (!part) return std::nullopt;
    quotient.push_back(std::move(*part));
  }
  return make_extent(table_of(a, b), std::move(quotient));
}

Extent floor_div(Extent a, Extent divisor) {
  if (divisor.is_number() && divisor.number() <= 0)
    throw UserError(fmt::format("floor_div({}, {}): the divisor must be above 0", to_string(a),
                                to_string(divisor)));
  if (divisor.is(1)) return a;
  if (a.is_number() && divisor.is_number()) {
    const std::int64_t quotient = a.number() / divisor.number();
    return quotient - (a.number() % divisor.number() < 0 ? 1 : 0);
  }
  if (std::optional<Extent> exact = divide_exactly(a, divisor)) return *exact;
  // floor((q × d + r) / d) = q + floor(r / d): only the terms that d does not divide stay inside.
  const std::vector<ExtentTerm> divisors = terms_of(divisor);
  std::vector<ExtentTerm> whole;
  std::vector<ExtentTerm> rest;
  for (const ExtentTerm& term : terms_of(a)) {
    const std::optional<ExtentTerm> part =
        divisors.size() == 1 ? divide(term, divisors[0]) : std::nullopt;
    (part ? whole : rest).push_back(part ? *part : term);
    if (part || !term.atoms.empty() || !divisor.is_number()) continue;
    const Extent floor = floor_div(Extent(term.coefficient), divisor);
    rest.back().coefficient -= floor.number() * divisor.number();
    if (!floor.is(0)) whole.push_back({.atoms = {}, .coefficient = floor.number()});
  }
  ExtentTable* table = table_of(a, divisor);
  const Extent outside = make_extent(table, std::move(whole));
  const Extent inside = make_extent(table, std::move(rest));
  if (provably_nonnegative(inside) && provably_less(inside, divisor)) return outside;
  // floor(floor(x / a) / b) = floor(x / (a × b)), unless a × b overflows.
  const std::vector<ExtentTerm> terms = terms_of(inside);
  if (terms.size() == 1 && terms[0].coefficient == 1 && terms[0].atoms.size() == 1 &&
      terms[0].atoms[0]->name.empty() && fits_product(terms[0].atoms[0]->divisor, divisor))
    return outside + floor_div(terms[0].atoms[0]->numerator, terms[0].atoms[0]->divisor * divisor);
  return outside +
         make_extent(table, {{.atoms = {table->quotient(inside, divisor)}, .coefficient = 1}});
}

Extent ceil_div(Extent a, std::int64_t divisor) { return floor_div(a + (divisor - 1), divisor); }

std::int64_t evaluate(Extent extent, std::span<const std::int64_t> symbol_values) {
  if (extent.is_number()) return extent.number();
  std::int64_t sum = 0;
  for (const ExtentTerm& term : extent.expression()->terms) {
    std::int64_t value = term.coefficient;
    for (const ExtentAtom* atom : term.atoms) {
      if (!atom->name.empty()) {
        ensure(static_cast<std::size_t>(atom->id) < symbol_values.size(), "unbound symbol");
        value = checked_result(value, symbol_values[static_cast<std::size_t>(atom->id)], '*');
        continue;
      }
      const Extent quotient = floor_div(Extent(evaluate(atom->numerator, symbol_values)),
                                        Extent(evaluate(atom->divisor, symbol_values)));
      value = checked_result(value, quotient.number(), '*');
    }
    sum = checked_result(sum, value, '+');
  }
  return sum;
}

std::vector<std::int64_t> evaluate_all(std::span<const Extent> extents,
                                       std::span<const std::int64_t> symbol_values) {
  std::vector<std::int64_t> values;
  values.reserve(extents.size());
  for (const Extent extent : extents) values.push_back(evaluate(extent, symbol_values));
  return values;
}

std::vector<std::string> size_texts(const ExtentTable& table,
                                    std::span<const std::int64_t> symbol_values) {
  std::vector<std::string> texts;
  for (const ExtentAtom* symbol : table.symbols())
    texts.push_back(
        fmt::format("{} = {}", symbol->name, symbol_values[static_cast<std::size_t>(symbol->id)]));
  return texts;
}

bool provably_nonnegative(Extent extent) {
  if (extent.is_number()) return extent.number() >= 0;
  std::int64_t at_ones = 0;
  bool overflows = false;
  for (const ExtentTerm& term : extent.expression()->terms) {
    // A quotient may be 0, so only its sign is used.
    bool has_quotient = false;
    for (const ExtentAtom* atom : term.atoms) {
      if (!atom->name.empty()) continue;
      has_quotient = true;
      if (!provably_nonnegative(atom->numerator)) return false;
    }
    if (!term.atoms.empty() && term.coefficient < 0) return false;
    if (!has_quotient) overflows |= __builtin_add_overflow(at_ones, term.coefficient, &at_ones);
  }
  return !overflows && at_ones >= 0;
}

bool provably_negative(Extent extent) {
  if (extent.is_number()) return extent.number() < 0;
  return provably_less(extent, 0);
}

bool provably_less(Extent a, Extent b) { return provably_nonnegative(b - a - Extent(1)); }

Extent product(std::span<const Extent> extents) {
  Extent result = 1;
  for (const Extent extent : extents) result = result * extent;
  return result;
}

std::string to_string(Extent extent) {
  if (extent.is_number()) return fmt::format("{}", extent.number());
  struct Part {
    std::string atoms;
    std::int64_t coefficient;
  };
  std::vector<Part> parts;
  for (const ExtentTerm& term : extent.expression()->terms)
    parts.push_back({.atoms = to_string(term.atoms), .coefficient = term.coefficient});
  // Products are in alphabetical order; the constant, which has no atoms, is last.
  std::ranges::sort(parts, [](const Part& a, const Part& b) {
    if (a.atoms.empty() || b.atoms.empty()) return !a.atoms.empty();
    return a.atoms < b.atoms;
  });
  std::string text;
  for (const Part& part : parts) {
    // -2^63 has no positive counterpart, so it keeps its sign.
    const bool minus = !text.empty() && part.coefficient < 0 && part.coefficient != INT64_MIN;
    if (!text.empty()) text += minus ? " - " : " + ";
    const std::int64_t coefficient = minus ? -part.coefficient : part.coefficient;
    text += part.atoms;
    if (part.atoms.empty())
      text += fmt::format("{}", coefficient);
    else if (coefficient != 1)
      text += fmt::format(" * {}", coefficient);
  }
  return text;
}

std::string to_string(std::span<const Extent> shape) {
  std::string text = "[";
  for (const Extent extent : shape) text += (text.size() == 1 ? "" : ", ") + to_string(extent);
  return text + "]";
}

}  // namespace sinter
