#include "compiler/body_building/store_mapping.h"

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
  int from = -1;                  ///< the number it is cut out of; -1: an axis
  Digits cut = {};
};

class StoreMapper {
 public:
  StoreMapper(Body& body, bool of_elements, const std::vector<Condition>& conditions) : body_(body) {
    axes_ = body.parallel_axes + (of_elements ? 1 : 0);
    for (int axis = 0; axis < body.space.axis_count(); ++axis) {
      Extent begin = 0;
      Extent end = body.space.extent(axis);
      if (axis < axes_)
        for (const Condition& condition : conditions) narrow(axis, condition, begin, end);
      const Index own = space_.add_axis(end - begin);
      here_.push_back(space_.add(own, constant_index(begin)));
      back_.push_back(body.space.add(body.space.axis(axis), constant_index(Extent(0) - begin)));
      if (axis < axes_) numbers_.push_back({.at = own, .extent = end - begin, .begin = begin});
    }
  }

  /// `index` of the body over the remaining positions, in a simpler form.
  Index here(const Index& index) { return space_.substitute(index, here_); }
  Index back(const Index& index) { return body_.space.substitute(index, back_); }

  /// Keeps only the positions where `condition`, over them, holds; false if it cannot be analysed.
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
                        .from = digits->number,
                        .cut = *digits});
    return true;
  }

  /// True if the remaining positions have each of `size` elements; `element` is its linear index.
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

  /// The remaining conditions, after every coordinate that no element depends on is fixed at 0.
  std::optional<StoreMapping> take() {
    for (const Number& number : numbers_)
      if (number.extent.is_number() && number.extent.number() < 1) return std::nullopt;
    for (int axis = 0; axis < axes_; ++axis) {
      // Do not combine parallel axes with the reduced axis, because vectors run along one of the
      // two.
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
  /// Narrows [begin, end) of `axis` to where `condition` holds, if it depends on this axis alone.
  static void narrow(int axis, const Condition& condition, Extent& begin, Extent& end) {
    const Index& at = condition.at;
    if (at.terms.size() != 1 || at.terms[0].atom->kind != IndexAtom::Kind::axis ||
        at.terms[0].atom->axis != axis)
      return;
    const Extent step = at.terms[0].coefficient;
    if (!step.is(1) && !step.is(-1)) return;
    const bool runs_back = step.is(-1);
    const Extent first =
        runs_back ? at.constant - condition.end + Extent(1) : condition.begin - at.constant;
    const Extent last =
        runs_back ? at.constant - condition.begin + Extent(1) : condition.end - at.constant;
    if (provably_nonnegative(first - begin)) begin = first;
    if (provably_nonnegative(end - last)) end = last;
  }

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

  /// Expresses `digits` by the number that was cut out of them, if there is one.
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

  /// Fixes an axis that no element depends on at 0, merged with adjacent such axes into one number.
  void add_standing(int axis) {
    const Number& number = numbers_[static_cast<std::size_t>(axis)];
    const Extent extent = body_.space.extent(axis);
    require(number.extent);
    if (number.extent != extent) {
      end_standing();
      add(body_.space.axis(axis), number.begin, 1);
    } else if (!extent.is(1)) {
      standing_ = body_.space.add(body_.space.scale(standing_, extent), body_.space.axis(axis));
    }
  }

  void add(Index at, Extent begin, Extent count) {
    cover_.conditions.push_back({.at = std::move(at), .begin = begin, .end = begin + count});
  }

  void end_standing() {
    if (!standing_.is_constant()) add(std::exchange(standing_, {}), 0, 1);
  }

  /// The storing position exists only if `extent` is not 0.
  void require(Extent extent) {
    if (!extent.is_number())
      cover_.at_least_one.push_back(extent);
    else if (extent.number() < 1)
      is_empty_ = true;
  }

  bool add_conditions(int which) {
    Number number = numbers_[static_cast<std::size_t>(which)];
    if (number.from >= 0) {
      const Index cut = back(space_.add(number.at, constant_index(number.begin)));
      const bool stands = number.used.empty();
      add(cut, number.begin, stands ? Extent(1) : number.extent);
      if (stands) {
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
      if (numbers_[i].from == which && !add_conditions(static_cast<int>(i))) return false;
    return true;
  }

  /// Fixes the digits low … high at 0; false if they are not digits.
  bool add_zero_digits(const Number& number, Extent low, Extent high) {
    if (low == high) return true;
    const std::optional<Extent> count = divide_exactly(high, low);
    if (!count) return false;
    Index at = space_.divide(number.at, low);
    if (high != number.extent) at = space_.modulo(at, *count);
    add(back(at), 0, 1);
    require(*count);
    return true;
  }

  Body& body_;
  IndexSpace space_;         ///< the body's space, narrowed to where conditions on its axes hold
  std::vector<Index> here_;  ///< the body's axes over `space_`
  std::vector<Index> back_;  ///< the axes of `space_` over those of the body
  int axes_ = 0;
  std::vector<Number> numbers_;  ///< the axes come first
  Index standing_;               ///< over the body's axes
  bool is_empty_ = false;
  StoreMapping cover_;
};

}  // namespace

std::optional<StoreMapping> map_store(Body& body, bool of_elements, const Site& site,
                                      std::span<const Extent> shape) {
  if (site.whole) {
    std::optional<StoreMapping> result =
        map_store(body, of_elements, *site.whole, site.whole->node->shape);
    if (!result) return std::nullopt;
    for (std::size_t i = site.whole->conditions.size(); i < site.conditions.size(); ++i)
      result->conditions.push_back(site.conditions[i]);
    result->position.clear();
    for (const Index& index : site.position) result->position.push_back(body.space.plain(index));
    return result;
  }
  StoreMapper covering(body, of_elements, site.conditions);
  for (const Condition& condition : site.conditions)
    if (!covering.restrict_to(
            {.at = covering.here(condition.at), .begin = condition.begin, .end = condition.end}))
      return std::nullopt;
  const Index element = body.space.plain(body.space.linearize(site.position, shape));
  if (!covering.has_every(covering.here(element), product(shape))) return std::nullopt;
  std::optional<StoreMapping> result = covering.take();
  if (result)
    for (const Index& index : site.position)
      result->position.push_back(covering.back(covering.here(body.space.plain(index))));
  return result;
}

bool follows_loads(const Body& body, const Index& at) {
  const auto steps = [](const Index& index, int axis) {
    const std::optional<Extent> step = coefficient_of(index, axis);
    return step && step->is(1);
  };
  for (int axis = 0; axis < body.space.axis_count(); ++axis)
    if (steps(at, axis) && std::ranges::any_of(body.values, [&](const Value& value) {
          return value.kind == Value::Kind::load && value.varies && steps(value.at, axis);
        }))
      return true;
  return false;
}

}  // namespace sinter
