#include "compiler/body_building/store_mapping.h"

#include "compiler/body/access.h"

#include <algorithm>

namespace sinter {

namespace {

/// floor(number / low) mod (high / low), plus `offset`. `low` divides `high`, and `high` divides
/// the extent of the number. Non-overlapping digits of a number are independent of one another.
struct Digits {
  int number = 0;
  Extent low;
  Extent high;
  Extent count;  ///< high / low
  Extent offset;
};

/// A coordinate of the positions: an axis, or digits of another number, restricted to [begin, begin
/// + extent).
struct Number {
  Index at;  ///< from 0 up to the extent
  Extent extent;
  Extent begin = 0;
  std::vector<Digits> used = {};  ///< by the elements, or by numbers cut out of this one
  int parent = -1;                ///< the number it is cut out of; -1: an axis
  Digits parent_digits = {};      ///< its digits in `parent`
};

class StoreMapper {
 public:
  StoreMapper(Body& body, bool of_elements, const std::vector<Condition>& conditions)
      : body_(body) {
    axes_ = body.parallel_axes + (of_elements ? 1 : 0);
    for (int axis = 0; axis < body.space.axis_count(); ++axis) {
      Extent begin = 0;
      Extent end = body.space.extent(axis);
      if (axis < axes_)
        for (const Condition& condition : conditions) narrow_range(begin, end, axis, condition);
      const Index own = space_.add_axis(end - begin);
      narrowed_axes_.push_back(space_.add(own, constant_index(begin)));
      body_axes_.push_back(
          body.space.add(body.space.axis(axis), constant_index(Extent(0) - begin)));
      if (axis < axes_) numbers_.push_back({.at = own, .extent = end - begin, .begin = begin});
    }
  }

  /// `index` of the body over `space_`, in a simpler form; and the reverse.
  Index to_narrowed(const Index& index) { return space_.substitute(index, narrowed_axes_); }
  Index to_body(const Index& index) { return body_.space.substitute(index, body_axes_); }

  /// Keeps only the positions where `condition`, over `space_`, holds; false if it cannot be
  /// analysed.
  bool restrict_to(const Condition& condition) {
    const Index& at = condition.at;
    if (at.terms.size() == 1 && at.terms[0].coefficient.is(-1))
      return restrict_to({.at = space_.scale(at, -1),
                          .begin = Extent(1) - condition.end,
                          .end = Extent(1) - condition.begin});
    if (at.is_constant())
      return provably_nonnegative(at.constant - condition.begin) &&
             provably_less(at.constant, condition.end);
    const std::optional<Digits> digits = digits_of(at);
    if (!digits) return false;
    const Extent count = digits->count;
    Extent begin = condition.begin - digits->offset;
    Extent end = condition.end - digits->offset;
    if (provably_nonnegative(Extent(0) - begin)) begin = 0;
    if (provably_nonnegative(end - count)) end = count;
    if (!provably_nonnegative(begin) || !provably_nonnegative(count - end)) return false;
    if (begin.is(0) && end == count) return true;
    const Extent extent = end - begin;
    if (extent.is_number() && extent.number() < 1) return false;
    const Index raw = space_.add(at, constant_index(Extent(0) - digits->offset));
    numbers_[static_cast<std::size_t>(digits->number)].used.push_back(*digits);
    numbers_.push_back({.at = space_.add(raw, constant_index(Extent(0) - begin)),
                        .extent = extent,
                        .begin = begin,
                        .used = {},
                        .parent = digits->number,
                        .parent_digits = *digits});
    return true;
  }

  /// True if the remaining positions have each of `size` elements; `element` is its linear index.
  bool has_every(const Index& element, Extent size) {
    struct Position {
      Extent step;
      Extent count;
    };
    std::vector<Position> positions;
    Extent first = element.constant;
    for (const IndexTerm& term : element.terms) {
      const std::optional<Digits> digits = digits_of(*term.atom);
      if (!digits) return false;
      const Extent count = digits->count;
      Extent step = term.coefficient;
      first = first + step * digits->offset;
      if (count.is(1)) continue;
      if (provably_negative(step)) {
        first = first + step * (count - Extent(1));
        step = step * Extent(-1);
      }
      positions.push_back({.step = step, .count = count});
      numbers_[static_cast<std::size_t>(digits->number)].used.push_back(*digits);
    }
    if (!first.is(0)) return false;
    Extent count = 1;
    while (!positions.empty()) {
      const auto next = std::ranges::find(positions, count, &Position::step);
      if (next == positions.end()) return false;
      count = count * next->count;
      positions.erase(next);
    }
    return count == size;
  }

  /// The remaining conditions, after every coordinate that no element depends on is fixed at 0.
  std::optional<StoreMapping> finish() {
    for (const Number& number : numbers_)
      if (number.extent.is_number() && number.extent.number() < 1) return std::nullopt;
    for (int axis = 0; axis < axes_; ++axis) {
      // Do not combine parallel axes with the reduced axis, because vectors run along one of the
      // two.
      if (axis == body_.parallel_axes) end_fixed();
      if (numbers_[static_cast<std::size_t>(axis)].used.empty()) {
        fix_at_zero(axis);
        continue;
      }
      end_fixed();
      if (!add_conditions(axis)) return std::nullopt;
    }
    end_fixed();
    if (is_empty_) return std::nullopt;
    return std::move(mapping_);
  }

 private:
  std::optional<Digits> digits_of(const Index& index) const {
    if (index.terms.size() != 1 || !index.terms[0].coefficient.is(1)) return std::nullopt;
    std::optional<Digits> result = digits_of(*index.terms[0].atom);
    if (result) result->offset = result->offset + index.constant;
    return result;
  }

  std::optional<Digits> digits_of(const IndexAtom& atom) const {
    if (atom.kind == IndexAtom::Kind::axis) {
      if (atom.axis >= axes_) return std::nullopt;
      return within_parts({.number = atom.axis,
                           .low = 1,
                           .high = atom.divisor,
                           .count = atom.divisor,
                           .offset = 0});
    }
    if (atom.kind == IndexAtom::Kind::indirect) return std::nullopt;
    std::optional<Digits> digits = digits_of(atom.numerator);
    if (!digits || !provably_nonnegative(digits->offset)) return std::nullopt;
    const std::optional<Extent> offset =
        digits->offset.is(0) ? digits->offset : divide_exactly(digits->offset, atom.divisor);
    const Extent middle = digits->low * atom.divisor;
    const std::optional<Extent> above = divide_exactly(digits->high, middle);
    if (!offset || !above) return std::nullopt;
    if (atom.kind == IndexAtom::Kind::quotient) {
      digits->low = middle;
      digits->count = *above;
      digits->offset = *offset;
    } else {
      digits->high = middle;
      digits->count = atom.divisor;
      digits->offset = 0;
    }
    return within_parts(*digits);
  }

  /// Expresses `digits` by the number that was cut out of them, if there is one.
  Digits within_parts(Digits digits) const {
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const Number& number = numbers_[i];
      if (number.parent != digits.number || number.parent_digits.low != digits.low ||
          number.parent_digits.high != digits.high)
        continue;
      digits = {.number = static_cast<int>(i),
                .low = 1,
                .high = number.extent,
                .count = number.extent,
                .offset = digits.offset + number.begin};
    }
    return digits;
  }

  /// Fixes an axis that no element depends on at 0, merged with adjacent such axes into one number.
  void fix_at_zero(int axis) {
    const Number& number = numbers_[static_cast<std::size_t>(axis)];
    const Extent extent = body_.space.extent(axis);
    require(number.extent);
    if (number.extent != extent) {
      end_fixed();
      add(body_.space.axis(axis), number.begin, 1);
    } else if (!extent.is(1)) {
      fixed_ = body_.space.add(body_.space.scale(fixed_, extent), body_.space.axis(axis));
    }
  }

  void add(Index at, Extent begin, Extent count) {
    mapping_.conditions.push_back({.at = std::move(at), .begin = begin, .end = begin + count});
  }

  void end_fixed() {
    if (!fixed_.is_constant()) add(std::exchange(fixed_, {}), 0, 1);
  }

  /// The storing position exists only if `extent` is not 0.
  void require(Extent extent) {
    if (!extent.is_number())
      mapping_.at_least_one.push_back(extent);
    else if (extent.number() < 1)
      is_empty_ = true;
  }

  bool add_conditions(int which) {
    Number number = numbers_[static_cast<std::size_t>(which)];
    if (number.parent >= 0) {
      const Index own = to_body(space_.add(number.at, constant_index(number.begin)));
      const bool is_fixed = number.used.empty();
      add(own, number.begin, is_fixed ? Extent(1) : number.extent);
      if (is_fixed) {
        require(number.extent);
        return true;
      }
    } else if (number.extent != body_.space.extent(which)) {
      add(body_.space.axis(which), number.begin, number.extent);
    }
    Extent low = 1;
    while (!number.used.empty()) {
      const auto next = std::ranges::find_if(number.used, [&](const Digits& digits) {
        return std::ranges::all_of(number.used, [&](const Digits& other) {
          return &other == &digits || divide_exactly(other.low, digits.high).has_value();
        });
      });
      if (next == number.used.end() || !add_zero_digits(number, low, next->low)) return false;
      low = next->high;
      number.used.erase(next);
    }
    if (!add_zero_digits(number, low, number.extent)) return false;
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      if (numbers_[i].parent == which && !add_conditions(static_cast<int>(i))) return false;
    return true;
  }

  /// Fixes the digits low … high at 0; false if they are not digits.
  bool add_zero_digits(const Number& number, Extent low, Extent high) {
    if (low == high) return true;
    const std::optional<Extent> count = divide_exactly(high, low);
    if (!count) return false;
    Index at = space_.divide(number.at, low);
    if (high != number.extent) at = space_.modulo(at, *count);
    add(to_body(at), 0, 1);
    require(*count);
    return true;
  }

  Body& body_;
  IndexSpace space_;  ///< the body's space, narrowed to where conditions on its axes hold
  std::vector<Index> narrowed_axes_;  ///< the body's axes over `space_`
  std::vector<Index> body_axes_;      ///< the axes of `space_` over those of the body
  int axes_ = 0;
  std::vector<Number> numbers_;  ///< the axes come first
  Index fixed_;                  ///< over the body's axes
  bool is_empty_ = false;
  StoreMapping mapping_;
};

}  // namespace

std::optional<StoreMapping> map_store(Body& body, bool of_elements, const Site& site,
                                      std::span<const Extent> shape) {
  if (site.complete_site) {
    std::optional<StoreMapping> result =
        map_store(body, of_elements, *site.complete_site, site.complete_site->node->shape);
    if (!result) return std::nullopt;
    for (std::size_t i = site.complete_site->conditions.size(); i < site.conditions.size(); ++i)
      result->conditions.push_back(site.conditions[i]);
    result->position.clear();
    for (const Index& index : site.position)
      result->position.push_back(body.space.without_bounds(index));
    return result;
  }
  StoreMapper mapper(body, of_elements, site.conditions);
  for (const Condition& condition : site.conditions)
    if (!mapper.restrict_to({.at = mapper.to_narrowed(condition.at),
                             .begin = condition.begin,
                             .end = condition.end}))
      return std::nullopt;
  const Index element = body.space.without_bounds(body.space.linearize(site.position, shape));
  if (!mapper.has_every(mapper.to_narrowed(element), product(shape))) return std::nullopt;
  std::optional<StoreMapping> result = mapper.finish();
  if (result)
    for (const Index& index : site.position)
      result->position.push_back(
          mapper.to_body(mapper.to_narrowed(body.space.without_bounds(index))));
  return result;
}

bool follows_loads(const Body& body, const Index& at) {
  for (int axis = 0; axis < body.space.axis_count(); ++axis)
    if (has_unit_stride(at, axis) && std::ranges::any_of(body.values, [&](const Value& value) {
          return value.kind == Value::Kind::load && value.varies && has_unit_stride(value.at, axis);
        }))
      return true;
  return false;
}

}  // namespace sinter
