#include "compiler/cover.h"

#include <algorithm>

#include "ir/structural.h"

namespace sinter {

namespace {

/// floor(number / low) mod (high / low), plus `offset`; low divides high, and high the extent of
/// the number. The digits of a number that share no factor are independent of one another.
struct Digits {
  int number = 0;
  Extent low;
  Extent high;
  Extent count;  ///< high / low
  Extent offset;
};

/// A coordinate of the places: an axis, or those digits of another number that are within
/// [begin, begin + extent).
struct Number {
  Index at;  ///< runs from 0 to the extent
  Extent extent;
  std::vector<Digits> used = {};  ///< by the elements, or by numbers cut out of this one
  int from = -1;                  ///< the number it is cut out of; -1: an axis
  Digits cut = {};
  Extent begin = 0;
};

class Covering {
 public:
  Covering(Body& body, bool of_elements) : body_(body), space_(body.space) {
    axes_ = body.parallel_axes + (of_elements ? 1 : 0);
    for (int axis = 0; axis < axes_; ++axis)
      numbers_.push_back({.at = space_.axis(axis), .extent = space_.extent(axis)});
  }

  /// Leaves the places where `condition` holds; false where that is not seen through.
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
                        .used = {},
                        .from = digits->number,
                        .cut = *digits,
                        .begin = begin});
    return true;
  }

  /// True if the places that are left have each of `size` elements, `element` being their number.
  bool has_every(const Index& element, Extent size) {
    struct Place {
      Extent step;
      Extent count;
    };
    std::vector<Place> places;
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
      places.push_back({.step = step, .count = count});
      numbers_[static_cast<std::size_t>(digits->number)].used.push_back(*digits);
    }
    if (!first.is(0)) return false;
    Extent count = 1;
    while (!places.empty()) {
      const auto next = std::ranges::find(places, count, &Place::step);
      if (next == places.end()) return false;
      count = count * next->count;
      places.erase(next);
    }
    return count == size;
  }

  /// The conditions that are left once what no element depends on stands at 0.
  std::optional<Cover> take() {
    for (int axis = 0; axis < axes_; ++axis) {
      // Vectors run along one of the two sides.
      if (axis == body_.parallel_axes) end_standing();
      if (numbers_[static_cast<std::size_t>(axis)].used.empty()) {
        add_standing(axis);
        continue;
      }
      end_standing();
      if (!add_conditions(axis)) return std::nullopt;
    }
    end_standing();
    if (is_empty_) return std::nullopt;
    return std::move(cover_);
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
      return within_cuts({.number = atom.axis,
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
    return within_cuts(*digits);
  }

  /// The same as digits of the number that was cut out of them, if one was.
  Digits within_cuts(Digits digits) const {
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const Number& number = numbers_[i];
      if (number.from != digits.number || number.cut.low != digits.low ||
          number.cut.high != digits.high)
        continue;
      digits = {.number = static_cast<int>(i),
                .low = 1,
                .high = number.extent,
                .count = number.extent,
                .offset = digits.offset + number.begin};
    }
    return digits;
  }

  /// Lets an axis that no element depends on stand at 0, with its neighbours as one number.
  void add_standing(int axis) {
    const Extent extent = space_.extent(axis);
    if (extent.is(1)) return;
    standing_ = space_.add(space_.scale(standing_, extent), space_.axis(axis));
    require(extent);
  }

  void end_standing() {
    if (!standing_.is_constant())
      cover_.conditions.push_back({.at = std::exchange(standing_, {}), .begin = 0, .end = 1});
  }

  /// The place that stores is there only if there is any.
  void require(Extent extent) {
    if (!extent.is_number())
      cover_.at_least_one.push_back(extent);
    else if (extent.number() < 1)
      is_empty_ = true;
  }

  bool add_conditions(int which) {
    Number number = numbers_[static_cast<std::size_t>(which)];
    if (number.from >= 0) {
      const Index raw = space_.add(number.at, constant_index(number.begin));
      const bool stands = number.used.empty();
      const Extent count = stands ? Extent(1) : number.extent;
      cover_.conditions.push_back({.at = raw, .begin = number.begin, .end = number.begin + count});
      if (stands) {
        require(number.extent);
        return true;
      }
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
      if (numbers_[i].from == which && !add_conditions(static_cast<int>(i))) return false;
    return true;
  }

  /// Lets the digits low … high stand at 0; false if there are none of these.
  bool add_zero_digits(const Number& number, Extent low, Extent high) {
    if (low == high) return true;
    const std::optional<Extent> count = divide_exactly(high, low);
    if (!count) return false;
    Index at = space_.divide(number.at, low);
    if (high != number.extent) at = space_.modulo(at, *count);
    cover_.conditions.push_back({.at = std::move(at), .begin = 0, .end = 1});
    require(*count);
    return true;
  }

  const Body& body_;
  IndexSpace& space_;
  int axes_ = 0;
  std::vector<Number> numbers_;  ///< the axes come first
  Index standing_;
  bool is_empty_ = false;
  Cover cover_;
};

std::optional<Site> seen_through_slice(IndexSpace& space, const Node& view, Site site) {
  const auto axis = static_cast<std::size_t>(attribute(view, "axis").integer);
  const Extent begin = attribute(view, "begin").extent;
  const Extent step = attribute(view, "step").integer;
  Index& place = site.position[axis];
  if (!step.is(1)) {
    if (!begin.is_number()) return std::nullopt;
    const Extent rest = begin - floor_div(begin, step) * step;
    site.conditions.push_back(
        {.at = space.modulo(place, step), .begin = rest, .end = rest + Extent(1)});
    place = space.divide(place, step);
  }
  const Extent first = floor_div(begin, step);
  site.conditions.push_back({.at = place, .begin = first, .end = first + view.shape[axis]});
  place = space.add(place, constant_index(Extent(0) - first));
  return site;
}

}  // namespace

std::optional<Site> seen_through(IndexSpace& space, const Node& view, const Site& site) {
  const std::span<const Extent> from = view.operand(0)->shape;
  Site result = site;
  result.node = &view;
  switch (view.op) {
    case Op::slice: return seen_through_slice(space, view, std::move(result));
    case Op::flip: result.position = operand_index(space, view, 0, site.position); return result;
    case Op::permute: {
      const std::span<const std::int64_t> axes = attribute(view, "axes").integers;
      for (std::size_t axis = 0; axis < axes.size(); ++axis)
        result.position[axis] = site.position[static_cast<std::size_t>(axes[axis])];
      return result;
    }
    case Op::reshape:
    case Op::broadcast_to:
      if (product(from) != product(view.shape)) return std::nullopt;
      result.position = space.delinearize(space.linearize(site.position, from), view.shape);
      return result;
    default: return std::nullopt;
  }
}

std::optional<Cover> cover(Body& body, bool of_elements, const Site& site,
                           std::span<const Extent> shape) {
  Covering covering(body, of_elements);
  for (const Condition& condition : site.conditions)
    if (!covering.restrict_to(condition)) return std::nullopt;
  if (!covering.has_every(body.space.linearize(site.position, shape), product(shape)))
    return std::nullopt;
  return covering.take();
}

}  // namespace sinter
