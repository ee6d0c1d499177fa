#include "ir/extent.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

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

std::int64_t checked(std::int64_t a, std::int64_t b, char op) {
  std::int64_t result = 0;
  const bool overflow = op == '+' ? __builtin_add_overflow(a, b, &result)
                                  : __builtin_mul_overflow(a, b, &result);
  if (overflow)
    throw UserError(fmt::format("extent {} {} {} does not fit in 64 bits", a, op, b));
  return result;
}

bool atoms_less(const std::vector<const ExtentAtom*>& a, const std::vector<const ExtentAtom*>& b) {
  return std::ranges::lexicographical_compare(
      a, b, [](const ExtentAtom* x, const ExtentAtom* y) { return x->id < y->id; });
}

std::vector<ExtentTerm> canonical(std::vector<ExtentTerm> terms) {
  std::ranges::sort(terms, [](const ExtentTerm& a, const ExtentTerm& b) {
    return atoms_less(a.atoms, b.atoms);
  });
  std::vector<ExtentTerm> result;
  for (ExtentTerm& term : terms) {
    if (!result.empty() && result.back().atoms == term.atoms)
      result.back().coefficient = checked(result.back().coefficient, term.coefficient, '+');
    else
      result.push_back(std::move(term));
  }
  std::erase_if(result, [](const ExtentTerm& term) { return term.coefficient == 0; });
  return result;
}

Extent make(ExtentTable* table, std::vector<ExtentTerm> terms) {
  terms = canonical(std::move(terms));
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms[0].atoms.empty()) return terms[0].coefficient;
  return table->intern(std::move(terms));
}

ExtentTerm multiply(const ExtentTerm& a, const ExtentTerm& b) {
  ExtentTerm result{.atoms = a.atoms, .coefficient = checked(a.coefficient, b.coefficient, '*')};
  result.atoms.insert(result.atoms.end(), b.atoms.begin(), b.atoms.end());
  std::ranges::sort(result.atoms, {}, [](const ExtentAtom* atom) { return atom->id; });
  return result;
}

/// term / divisor if the divisor's coefficient and atoms divide it.
std::optional<ExtentTerm> divide(const ExtentTerm& term, const ExtentTerm& divisor) {
  if (term.coefficient % divisor.coefficient != 0) return std::nullopt;
  ExtentTerm result{.atoms = term.atoms, .coefficient = term.coefficient / divisor.coefficient};
  for (const ExtentAtom* atom : divisor.atoms) {
    auto found = std::ranges::find(result.atoms, atom);
    if (found == result.atoms.end()) return std::nullopt;
    result.atoms.erase(found);
  }
  return result;
}

std::string to_string(const ExtentAtom& atom) {
  if (!atom.name.empty()) return atom.name;
  return fmt::format("floor_div({}, {})", to_string(atom.numerator), to_string(atom.divisor));
}

std::string to_string(const ExtentTerm& term) {
  std::string text;
  for (const ExtentAtom* atom : term.atoms)
    text += (text.empty() ? "" : " * ") + to_string(*atom);
  if (text.empty()) return fmt::format("{}", term.coefficient);
  return term.coefficient == 1 ? text : fmt::format("{} * {}", text, term.coefficient);
}

}  // namespace

ExtentTable::ExtentTable() = default;
ExtentTable::~ExtentTable() = default;

bool ExtentTable::Less::operator()(const std::unique_ptr<ExtentExpression>& a,
                                   const std::unique_ptr<ExtentExpression>& b) const {
  return std::ranges::lexicographical_compare(
      a->terms, b->terms, [](const ExtentTerm& x, const ExtentTerm& y) {
        if (x.coefficient != y.coefficient) return x.coefficient < y.coefficient;
        return atoms_less(x.atoms, y.atoms);
      });
}

Extent ExtentTable::symbol(std::string_view name) {
  for (const ExtentAtom* atom : symbols_)
    if (atom->name == name) return intern({{.atoms = {atom}, .coefficient = 1}});
  // Symbols come first in the order of atoms, so that their id is also their place in `symbols_`.
  atoms_.push_back(std::make_unique<ExtentAtom>(
      ExtentAtom{.id = static_cast<int>(symbols_.size()), .name = std::string(name), .numerator = {}, .divisor = {}}));
  symbols_.push_back(atoms_.back().get());
  return intern({{.atoms = {symbols_.back()}, .coefficient = 1}});
}

Extent ExtentTable::intern(std::vector<ExtentTerm> terms) {
  auto expression = std::make_unique<ExtentExpression>();
  expression->table = this;
  expression->terms = std::move(terms);
  return Extent::of(expressions_.insert(std::move(expression)).first->get());
}

const ExtentAtom* ExtentTable::quotient(Extent numerator, Extent divisor) {
  for (const auto& atom : atoms_)
    if (atom->name.empty() && atom->numerator == numerator && atom->divisor == divisor)
      return atom.get();
  constexpr int kAfterSymbols = 1 << 20;
  const int id = kAfterSymbols + static_cast<int>(atoms_.size());
  atoms_.push_back(std::make_unique<ExtentAtom>(
      ExtentAtom{.id = id, .name = {}, .numerator = numerator, .divisor = divisor}));
  return atoms_.back().get();
}

std::vector<ExtentTerm> terms_of(Extent extent) {
  if (!extent.is_number()) return extent.expression()->terms;
  if (extent.number() == 0) return {};
  return {{.atoms = {}, .coefficient = extent.number()}};
}

Extent operator+(Extent a, Extent b) {
  if (a.is_number() && b.is_number()) return checked(a.number(), b.number(), '+');
  std::vector<ExtentTerm> terms = terms_of(a);
  for (const ExtentTerm& term : terms_of(b)) terms.push_back(term);
  return make(table_of(a, b), std::move(terms));
}

Extent operator-(Extent a, Extent b) { return a + b * Extent(-1); }

Extent operator*(Extent a, Extent b) {
  if (a.is_number() && b.is_number()) return checked(a.number(), b.number(), '*');
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  std::vector<ExtentTerm> terms;
  for (const ExtentTerm& x : terms_of(a))
    for (const ExtentTerm& y : terms_of(b)) terms.push_back(multiply(x, y));
  return make(table_of(a, b), std::move(terms));
}

std::optional<Extent> divide_exactly(Extent a, Extent b) {
  if (a.is(0)) return Extent(0);
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
  return make(table_of(a, b), std::move(quotient));
}

Extent floor_div(Extent a, Extent divisor) {
  if (divisor.is(1)) return a;
  if (a.is_number() && divisor.is_number()) {
    const std::int64_t quotient = a.number() / divisor.number();
    return quotient - (a.number() % divisor.number() < 0 ? 1 : 0);
  }
  if (std::optional<Extent> exact = divide_exactly(a, divisor)) return *exact;
  ExtentTable* table = table_of(a, divisor);
  return table->intern({{.atoms = {table->quotient(a, divisor)}, .coefficient = 1}});
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
        value = checked(value, symbol_values[static_cast<std::size_t>(atom->id)], '*');
        continue;
      }
      const Extent quotient = floor_div(Extent(evaluate(atom->numerator, symbol_values)),
                                        Extent(evaluate(atom->divisor, symbol_values)));
      value = checked(value, quotient.number(), '*');
    }
    sum = checked(sum, value, '+');
  }
  return sum;
}

bool provably_nonnegative(Extent extent) {
  if (extent.is_number()) return extent.number() >= 0;
  std::int64_t at_ones = 0;
  for (const ExtentTerm& term : extent.expression()->terms) {
    // A quotient may be 0 where its numerator is small, so only its nonnegativity is used.
    const bool has_quotient =
        std::ranges::any_of(term.atoms, [](const ExtentAtom* atom) { return atom->name.empty(); });
    if (!term.atoms.empty() && term.coefficient < 0) return false;
    if (!has_quotient) at_ones += term.coefficient;
  }
  return at_ones >= 0;
}

bool provably_less(Extent a, Extent b) { return provably_nonnegative(b - a - Extent(1)); }

Extent product(std::span<const Extent> extents) {
  Extent result = 1;
  for (const Extent extent : extents) result = result * extent;
  return result;
}

std::int64_t known_divisor(Extent extent) {
  std::int64_t divisor = 0;
  for (const ExtentTerm& term : terms_of(extent)) divisor = std::gcd(divisor, term.coefficient);
  return divisor;
}

std::string to_string(Extent extent) {
  if (extent.is_number()) return fmt::format("{}", extent.number());
  std::string text;
  const std::vector<ExtentTerm>& terms = extent.expression()->terms;
  auto append = [&](const ExtentTerm& term) {
    if (text.empty()) {
      text = to_string(term);
      return;
    }
    const bool negative = term.coefficient < 0;
    ExtentTerm magnitude = term;
    if (negative) magnitude.coefficient = -magnitude.coefficient;
    text += (negative ? " - " : " + ") + to_string(magnitude);
  };
  // The constant stands first in the canonical order and last in the text.
  for (const ExtentTerm& term : terms)
    if (!term.atoms.empty()) append(term);
  for (const ExtentTerm& term : terms)
    if (term.atoms.empty()) append(term);
  return text;
}

std::string to_string(std::span<const Extent> shape) {
  std::string text = "[";
  for (const Extent extent : shape) text += (text.size() == 1 ? "" : ", ") + to_string(extent);
  return text + "]";
}

}  // namespace sinter
