#include "compiler/body/footprint.h"

#include <algorithm>
#include <set>

#include "compiler/body/access.h"

namespace sinter {

namespace {

/// The larger of two extents; nullopt if neither is provably larger.
std::optional<Extent> larger(Extent a, Extent b) {
  if (provably_nonnegative(a - b)) return a;
  if (provably_nonnegative(b - a)) return b;
  return std::nullopt;
}

/// True if `part` elements are at most `all`: the difference or the quotient shows it. An array
/// without elements counts as one that has some.
bool is_at_most(Extent part, Extent all) {
  if (provably_nonnegative(all - part)) return true;
  return !part.is_number() && floor_div(all, part) * part == all;
}

/// The positions [low, high) of an axis.
struct Positions {
  Extent low = 0;
  Extent high = 0;
  bool is_exact = true;  ///< else slightly too many positions

  Extent count() const {
    const Extent difference = high - low;
    return provably_negative(difference) ? Extent(0) : difference;
  }
};

/// Narrows `positions` of `axis` to those where begin <= at < end.
void narrow(Positions& positions, int axis, const Condition& condition) {
  if (!depends_on(condition.at, axis)) return;
  const std::optional<Extent> step = coefficient_of(condition.at, axis);
  if (!step || !step->is_number() || step->number() <= 0 || condition.at.terms.size() != 1) {
    positions.is_exact = false;
    return;
  }
  const Extent offset = condition.at.constant;
  const auto first_from = [&](Extent end) { return ceil_div(end - offset, step->number()); };
  const std::optional<Extent> low = larger(positions.low, first_from(condition.begin));
  const Extent end = first_from(condition.end);
  const std::optional<Extent> higher = larger(positions.high, end);
  positions.is_exact = positions.is_exact && low && higher;
  if (low) positions.low = *low;
  if (higher) positions.high = positions.high + end - *higher;  // the smaller of the two
}

/// Writes to `divisors`, for each axis, a number that the index divides the axis by and that
/// divides its extent.
void find_axis_divisors(const IndexSpace& space, const Index& index, std::vector<Extent>& divisors,
                        std::set<const IndexAtom*>& seen) {
  for (const IndexTerm& term : index.terms) {
    const IndexAtom& atom = *term.atom;
    if (atom.kind != IndexAtom::Kind::quotient && atom.kind != IndexAtom::Kind::remainder) continue;
    if (!seen.insert(&atom).second) continue;
    find_axis_divisors(space, atom.numerator, divisors, seen);
    for (int axis = 0; axis < space.axis_count(); ++axis)
      if (atom.numerator == space.axis(axis) &&
          floor_div(space.extent(axis), atom.divisor) * atom.divisor == space.extent(axis))
        divisors[static_cast<std::size_t>(axis)] = atom.divisor;
  }
}

/// An index over axes that are split into digits. Two axes replace an axis that occurs only as its
/// quotient and remainder by some number.
struct DigitAxes {
  IndexSpace space;
  Index index;
};
DigitAxes split_axes(const IndexSpace& space, const Index& index) {
  std::vector<Extent> divisors(static_cast<std::size_t>(space.axis_count()), Extent(1));
  std::set<const IndexAtom*> seen;
  find_axis_divisors(space, index, divisors, seen);
  DigitAxes digits;
  std::vector<Index> axes;
  for (int axis = 0; axis < space.axis_count(); ++axis) {
    const Extent divisor = divisors[static_cast<std::size_t>(axis)];
    const Index high = digits.space.add_axis(floor_div(space.extent(axis), divisor));
    axes.push_back(divisor.is(1) ? high
                                 : digits.space.add(digits.space.scale(high, divisor),
                                                    digits.space.add_axis(divisor)));
  }
  digits.index = digits.space.substitute(index, axes);
  return digits;
}

/// The number of values of `index` if they are consecutive integers; nullopt if that is not
/// provable. Every axis covers its whole extent.
std::optional<Extent> consecutive_values(const IndexSpace& space, const Index& index) {
  Extent count = 1;
  llvm::SmallVector<IndexTerm, 2> left = index.terms;
  while (!left.empty()) {
    const auto next = std::ranges::find(left, count, &IndexTerm::coefficient);
    if (next == left.end() || next->atom->kind != IndexAtom::Kind::axis) return std::nullopt;
    count = count * space.extent(next->atom->axis);
    left.erase(next);
  }
  return count;
}

/// The number of values of a quotient or remainder; nullopt if unknown.
std::optional<Extent> values_of(const IndexSpace& space, const IndexAtom& atom) {
  if (atom.kind != IndexAtom::Kind::quotient && atom.kind != IndexAtom::Kind::remainder)
    return std::nullopt;
  const std::optional<Extent> count = consecutive_values(space, atom.numerator);
  if (!count) return std::nullopt;
  const Extent first = atom.numerator.constant;
  if (atom.kind == IndexAtom::Kind::quotient)
    return floor_div(first + *count - Extent(1), atom.divisor) - floor_div(first, atom.divisor) +
           Extent(1);
  const std::optional<Extent> most = larger(*count, atom.divisor);
  if (!most) return std::nullopt;
  return *count + atom.divisor - *most;
}

/// Distinct values of an index with quotients and remainders. Terms that share no axis with other
/// terms are counted separately. The other terms count by the axes that they use.
Extent distinct_values(const Body& body, const Index& recorded) {
  const auto [space, index] = split_axes(body.space, recorded);
  Extent count = 1;
  std::uint64_t alone = 0;
  for (const IndexTerm& term : index.terms) {
    const bool is_alone = std::ranges::none_of(index.terms, [&](const IndexTerm& other) {
      return other.atom != term.atom && (other.atom->axes & term.atom->axes) != 0;
    });
    const std::optional<Extent> values =
        is_alone ? values_of(space, *term.atom) : std::optional<Extent>();
    if (!values) continue;
    count = count * *values;
    alone |= term.atom->axes;
  }
  for (int axis = 0; axis < space.axis_count(); ++axis)
    if (depends_on(index, axis) && (alone >> axis & 1) == 0) count = count * space.extent(axis);
  return count;
}

/// True if every term of `index` that depends on `axis` depends on nothing else.
bool is_separable(const Index& index, int axis) {
  return std::ranges::all_of(index.terms, [&](const IndexTerm& term) {
    const bool is_of_axis = (term.atom->axes >> axis & 1) != 0;
    return !is_of_axis || (term.atom->axes == std::uint64_t{1} << axis &&
                           !term.atom->has_indirect && term.coefficient.is_number());
  });
}

/// The number of distinct elements along `axis` under all conditions, by enumeration; nullopt if
/// the axis shares terms with others or is too long.
std::optional<std::int64_t> count_by_enumeration(const Body& body, const Value& value, int axis) {
  constexpr std::int64_t kMaxEnumerated = 4096;
  const Extent extent = body.space.extent(axis);
  if (!extent.is_number() || extent.number() > kMaxEnumerated || !is_separable(value.at, axis))
    return std::nullopt;
  std::vector<const Condition*> conditions;
  for (const Condition& condition : value.conditions) {
    if (!depends_on(condition.at, axis)) continue;
    const bool is_known = condition.at.constant.is_number() && condition.begin.is_number() &&
                          condition.end.is_number();
    const bool is_alone = std::ranges::all_of(condition.at.terms, [&](const IndexTerm& term) {
      return term.atom->axes == std::uint64_t{1} << axis;
    });
    if (!is_known || !is_alone || !is_separable(condition.at, axis)) return std::nullopt;
    conditions.push_back(&condition);
  }
  Index along;
  for (const IndexTerm& term : value.at.terms)
    if ((term.atom->axes >> axis & 1) != 0) along.terms.push_back(term);
  std::vector<std::int64_t> at(static_cast<std::size_t>(body.space.axis_count()), 0);
  std::vector<std::int64_t> elements;
  for (std::int64_t position = 0; position < extent.number(); ++position) {
    at[static_cast<std::size_t>(axis)] = position;
    const bool is_met = std::ranges::all_of(conditions, [&](const Condition* condition) {
      const std::int64_t number = evaluate(condition->at, at, {});
      return condition->begin.number() <= number && number < condition->end.number();
    });
    if (is_met) elements.push_back(evaluate(along, at, {}));
  }
  std::ranges::sort(elements);
  return std::unique(elements.begin(), elements.end()) - elements.begin();
}

/// Distinct elements of a conditional load whose address has quotients or remainders, as a product
/// over axes.
std::optional<Extent> elements_along_axes(const Body& body, const Value& value) {
  Extent result = 1;
  for (int axis = 0; axis < body.space.axis_count(); ++axis) {
    const bool is_asked = std::ranges::any_of(value.conditions, [&](const Condition& condition) {
      return depends_on(condition.at, axis);
    });
    if (!depends_on(value.at, axis)) {
      // The condition may hold at no position, which this function does not check.
      if (is_asked) return std::nullopt;
      continue;
    }
    if (!is_asked && coefficient_of(value.at, axis)) {
      result = result * body.space.extent(axis);
      continue;
    }
    const std::optional<std::int64_t> count = count_by_enumeration(body, value, axis);
    if (!count) return std::nullopt;
    result = result * Extent(*count);
  }
  return result;
}

}  // namespace

Footprint footprint_of(const Body& body, const Value& value) {
  const bool is_plain = is_affine(value.at) && !value.may_repeat;
  if (is_plain && value.conditions.empty()) {
    Extent elements = 1;
    for (const IndexTerm& term : value.at.terms) elements = elements * term.atom->divisor;
    return {.elements = elements, .is_exact = true};
  }
  Footprint result{.elements = 1, .is_exact = !has_indirect(value.at)};
  for (int axis = 0; axis < body.space.axis_count(); ++axis) {
    if (!depends_on(value.at, axis)) continue;
    Positions positions{.high = body.space.extent(axis)};
    for (const Condition& condition : value.conditions) narrow(positions, axis, condition);
    result.elements = result.elements * positions.count();
    result.is_exact = result.is_exact && positions.is_exact;
  }
  if (value.may_repeat) result.is_exact = false;
  if (is_plain) return result;
  if (!value.conditions.empty() && !value.may_repeat && !has_indirect(value.at))
    if (const std::optional<Extent> along_axes = elements_along_axes(body, value))
      return {.elements = *along_axes, .is_exact = true};
  // A condition may exclude parts of the view that the count above includes.
  if (!value.conditions.empty())
    result.is_exact = false;
  else
    result.elements = distinct_values(body, value.at);
  const Extent all = product(value.node->shape);
  if (!is_at_most(result.elements, all)) {
    result.elements = all;
    result.is_exact = false;
  }
  return result;
}

Extent stored_elements(const Body& body, const BodyStore& store) {
  if (store.of_columns) return body.reduced_size();
  if (store.is_final) return 1;
  if (store.is_segment || !store.conditions.empty()) return store.elements;
  Extent result = body.parallel_size();
  if (store.varies) result = result * body.reduced_size();
  return result;
}

}  // namespace sinter
