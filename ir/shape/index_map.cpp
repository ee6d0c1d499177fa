// Index arithmetic: canonical sums, simplified division and modulo, bounds and evaluation.
#include "ir/shape/index_map.h"

#include <algorithm>

#include "sinter/error.h"

namespace sinter {

namespace {

Index negated(const Index& index) {
  Index result{.constant = index.constant * Extent(-1), .terms = index.terms};
  for (IndexTerm& term : result.terms) term.coefficient = term.coefficient * Extent(-1);
  return result;
}

/// An index as quotient × divisor + rest. The terms that the divisor divides form the quotient,
/// which is 0 unless rest >= 0 is proven.
struct Division {
  Index quotient;
  Index rest;
};

Division divide_terms(const Index& index, Extent divisor) {
  Division result;
  for (const IndexTerm& term : index.terms) {
    if (const std::optional<Extent> exact = divide_exactly(term.coefficient, divisor))
      result.quotient.terms.push_back({.atom = term.atom, .coefficient = *exact});
    else
      result.rest.terms.push_back(term);
  }
  if (index.constant.is_number() && divisor.is_number()) {
    result.quotient.constant = floor_div(index.constant, divisor);
    result.rest.constant = index.constant - result.quotient.constant * divisor;
  } else if (const std::optional<Extent> exact = divide_exactly(index.constant, divisor)) {
    result.quotient.constant = *exact;
  } else {
    result.rest.constant = index.constant;
  }
  const std::optional<Extent> low = lower_bound(result.rest);
  if (!low || !provably_nonnegative(*low)) return {.quotient = {}, .rest = index};
  return result;
}

/// rest = g × high + low, with 0 <= low < g and g a divisor of the divisor that `factor` received.
/// Dividing `rest` by it equals dividing `high` by `divisor`, the quotient of the two.
struct Factored {
  Extent g;
  Extent divisor;
  Index high;
  Index low;
};

std::optional<Factored> factor(const Index& rest, Extent divisor) {
  for (const IndexTerm& term : rest.terms) {
    const Extent g = term.coefficient;
    if (g.is(1) || !provably_less(0, g)) continue;  // flipped axes have negative coefficients
    const std::optional<Extent> smaller = divide_exactly(divisor, g);
    if (!smaller) continue;
    Division parts = divide_terms(rest, g);
    if (parts.quotient.terms.empty() || !provably_within(parts.rest, g)) continue;
    return Factored{.g = g,
                    .divisor = *smaller,
                    .high = std::move(parts.quotient),
                    .low = std::move(parts.rest)};
  }
  return std::nullopt;
}

Index index_of(const IndexAtom* atom) {
  return {.constant = 0, .terms = {{.atom = atom, .coefficient = 1}}};
}

bool is_single(const Index& index, IndexAtom::Kind kind) {
  return index.constant.is(0) && index.terms.size() == 1 && index.terms[0].coefficient.is(1) &&
         index.terms[0].atom->kind == kind;
}

std::optional<Extent> largest_of(const IndexAtom& atom) {
  if (atom.kind != IndexAtom::Kind::quotient) return atom.divisor - Extent(1);
  const std::optional<Extent> top = upper_bound(atom.numerator);
  if (!top) return std::nullopt;
  // floor((q·d − 1) / d) = q − 1, also for symbols.
  if (const std::optional<Extent> exact = divide_exactly(*top + Extent(1), atom.divisor))
    return *exact - Extent(1);
  return floor_div(*top, atom.divisor);
}

std::uint64_t axes_of(const Index& index) {
  std::uint64_t axes = 0;
  for (const IndexTerm& term : index.terms) axes |= term.atom->axes;
  return axes;
}

bool has_bounded(const Index& index) {
  return std::ranges::any_of(index.terms,
                             [](const IndexTerm& term) { return term.atom->has_bounded; });
}

void compute_properties(IndexAtom& atom) {
  const bool is_axis = atom.kind == IndexAtom::Kind::axis;
  atom.axes = is_axis ? std::uint64_t{1} << atom.axis : axes_of(atom.numerator);
  for (const Index& at : atom.at) atom.axes |= axes_of(at);
  atom.has_indirect = atom.kind == IndexAtom::Kind::indirect || has_indirect(atom.numerator);
  atom.has_bounded = atom.kind == IndexAtom::Kind::bounded || has_bounded(atom.numerator) ||
                     std::ranges::any_of(atom.at, has_bounded);
  atom.largest = largest_of(atom);
}

/// `index` - `part` × `factor`; nullopt unless `index` contains each term of the product unchanged.
std::optional<Index> without(const Index& index, const Index& part, Extent factor) {
  Index rest{.constant = index.constant - part.constant * factor, .terms = index.terms};
  for (const IndexTerm& term : part.terms) {
    const IndexTerm wanted{.atom = term.atom, .coefficient = term.coefficient * factor};
    const auto found = std::ranges::find(rest.terms, wanted);
    if (found == rest.terms.end()) return std::nullopt;
    rest.terms.erase(found);
  }
  return rest;
}

/// Recombines one pair of terms that reshapes have split:
///   c·(x mod d) + c·d·⌊x / d⌋          = c·x
///   c·(x mod d) + c·d·(⌊x / d⌋ mod m)  = c·(x mod d·m)
bool recombine_once(IndexSpace& space, Index& index) {
  if (index.terms.size() < 2) return false;
  for (const IndexTerm& low : index.terms) {
    if (low.atom->kind != IndexAtom::Kind::remainder) continue;
    const Index quotient = space.divide(low.atom->numerator, low.atom->divisor);
    const Extent wanted = low.coefficient * low.atom->divisor;
    const Index low_alone{.constant = 0, .terms = {low}};
    if (std::optional<Index> rest = without(index, quotient, wanted)) {
      index = space.add(*without(*rest, low_alone, 1),
                        space.scale(low.atom->numerator, low.coefficient));
      return true;
    }
    for (const IndexTerm& high : index.terms) {
      if (high.atom->kind != IndexAtom::Kind::remainder || high.coefficient != wanted ||
          high.atom->numerator != quotient)
        continue;
      const Index both = space.modulo(low.atom->numerator, low.atom->divisor * high.atom->divisor);
      const Index rest =
          *without(*without(index, low_alone, 1), {.constant = 0, .terms = {high}}, 1);
      index = space.add(rest, space.scale(both, low.coefficient));
      return true;
    }
  }
  return false;
}

}  // namespace

Index constant_index(Extent value) { return {.constant = value, .terms = {}}; }

const IndexAtom* IndexSpace::intern(IndexAtom atom) {
  for (const auto& known : atoms_)
    if (known->kind == atom.kind && known->axis == atom.axis && known->divisor == atom.divisor &&
        known->tensor == atom.tensor && known->branch == atom.branch &&
        known->numerator == atom.numerator && known->at == atom.at)
      return known.get();
  atom.id = static_cast<int>(atoms_.size());
  compute_properties(atom);
  atoms_.push_back(std::make_unique<IndexAtom>(std::move(atom)));
  return atoms_.back().get();
}

Index IndexSpace::add_axis(Extent extent) {
  const int number = axis_count();
  ensure(number < 64, "an index space has more than 64 axes");
  axes_.push_back(intern({.kind = IndexAtom::Kind::axis, .axis = number, .divisor = extent}));
  return axis(number);
}

Index IndexSpace::axis(int number) const {
  const IndexAtom* atom = axes_[static_cast<std::size_t>(number)];
  // The index along an axis of extent 1 is always 0.
  return atom->divisor.is(1) ? Index() : index_of(atom);
}

Index IndexSpace::add(const Index& a, const Index& b) {
  if (b.terms.empty() && b.constant.is(0)) return a;
  Index result{.constant = a.constant + b.constant, .terms = a.terms};
  for (const IndexTerm& term : b.terms) {
    const auto place = std::ranges::lower_bound(result.terms, term.atom->id, {},
                                                [](const IndexTerm& t) { return t.atom->id; });
    if (place != result.terms.end() && place->atom == term.atom) {
      place->coefficient = place->coefficient + term.coefficient;
      if (place->coefficient.is(0)) result.terms.erase(place);
    } else {
      result.terms.insert(place, term);
    }
  }
  while (recombine_once(*this, result)) {
  }
  return result;
}

Index IndexSpace::scale(const Index& a, Extent factor) {
  if (factor.is(0)) return {};
  Index result{.constant = a.constant * factor, .terms = a.terms};
  for (IndexTerm& term : result.terms) term.coefficient = term.coefficient * factor;
  return result;
}

Index IndexSpace::divide(const Index& a, Extent divisor) {
  if (divisor.is(1)) return a;
  Division parts = divide_terms(a, divisor);
  if (provably_within(parts.rest, divisor)) return parts.quotient;
  if (std::optional<Factored> factored = factor(parts.rest, divisor))
    return add(parts.quotient, divide(factored->high, factored->divisor));
  if (is_single(parts.rest, IndexAtom::Kind::quotient)) {
    const IndexAtom& inner = *parts.rest.terms[0].atom;
    return add(parts.quotient, divide(inner.numerator, inner.divisor * divisor));
  }
  // floor((x mod d·k) / d) = floor(x / d) mod k.
  if (is_single(parts.rest, IndexAtom::Kind::remainder)) {
    const IndexAtom& inner = *parts.rest.terms[0].atom;
    if (const std::optional<Extent> k = divide_exactly(inner.divisor, divisor))
      return add(parts.quotient, modulo(divide(inner.numerator, divisor), *k));
  }
  const IndexAtom* atom = intern(
      {.kind = IndexAtom::Kind::quotient, .numerator = std::move(parts.rest), .divisor = divisor});
  return add(parts.quotient, index_of(atom));
}

Index IndexSpace::modulo(const Index& a, Extent divisor) {
  if (divisor.is(1)) return {};
  Division parts = divide_terms(a, divisor);
  if (provably_within(parts.rest, divisor)) return parts.rest;
  if (std::optional<Factored> factored = factor(parts.rest, divisor))
    return add(scale(modulo(factored->high, factored->divisor), factored->g), factored->low);
  if (is_single(parts.rest, IndexAtom::Kind::remainder) &&
      divide_exactly(parts.rest.terms[0].atom->divisor, divisor))
    return modulo(parts.rest.terms[0].atom->numerator, divisor);
  return index_of(intern({.kind = IndexAtom::Kind::remainder,
                          .numerator = std::move(parts.rest),
                          .divisor = divisor}));
}

Index IndexSpace::indirect(const Node* tensor, std::vector<Index> at, Extent bound, int branch) {
  return index_of(intern({.kind = IndexAtom::Kind::indirect,
                          .divisor = bound,
                          .tensor = tensor,
                          .at = std::move(at),
                          .branch = branch}));
}

Index IndexSpace::assume_bounded(const Index& a, Extent extent) {
  if (extent.is(1)) return {};
  if (a.is_constant() || provably_within(a, extent)) return a;
  return index_of(intern({.kind = IndexAtom::Kind::bounded, .numerator = a, .divisor = extent}));
}

template <class Map>
Index IndexSpace::rebuild(const IndexAtom& atom, const Map& map) {
  switch (atom.kind) {
    case IndexAtom::Kind::quotient: return divide(map(atom.numerator), atom.divisor);
    case IndexAtom::Kind::remainder: return modulo(map(atom.numerator), atom.divisor);
    case IndexAtom::Kind::indirect: {
      std::vector<Index> at;
      for (const Index& part : atom.at) at.push_back(map(part));
      return indirect(atom.tensor, std::move(at), atom.divisor, atom.branch);
    }
    default: return map(atom.numerator);
  }
}

Index IndexSpace::without_bounds(const Index& index) {
  if (!has_bounded(index)) return index;
  Index result = constant_index(index.constant);
  for (const IndexTerm& term : index.terms) {
    const Index value = term.atom->has_bounded ? without_bounds(*term.atom) : index_of(term.atom);
    result = add(result, scale(value, term.coefficient));
  }
  return result;
}

Index IndexSpace::without_bounds(const IndexAtom& atom) {
  const auto id = static_cast<std::size_t>(atom.id);
  if (without_bounds_.size() <= id) without_bounds_.resize(atoms_.size());
  if (without_bounds_[id]) return *without_bounds_[id];
  Index result = rebuild(atom, [&](const Index& index) { return without_bounds(index); });
  without_bounds_[id] = result;
  return result;
}

Index IndexSpace::linearize(std::span<const Index> index, std::span<const Extent> shape) {
  Index result;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    result = add(scale(result, shape[axis]), index[axis]);
  return result;
}

std::vector<Index> IndexSpace::delinearize(const Index& linear, std::span<const Extent> shape) {
  std::vector<Index> result(shape.size());
  Index rest = linear;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    // An axis of extent 0 has no elements, so its index is never evaluated. Extent 1 keeps the
    // expression defined.
    const Extent extent = shape[axis].is(0) ? Extent(1) : shape[axis];
    if (extent.is(1)) continue;
    // The rest is within the extent of axis 0 because `linear` is within the shape.
    if (axis == 0) {
      result[axis] = std::move(rest);
      break;
    }
    result[axis] = modulo(rest, extent);
    rest = divide(rest, extent);
  }
  return result;
}

Index IndexSpace::substitute(const Index& index, std::span<const Index> axes) {
  Index result = constant_index(index.constant);
  for (const IndexTerm& term : index.terms) {
    const IndexAtom& atom = *term.atom;
    Index value = atom.kind == IndexAtom::Kind::axis
                      ? axes[static_cast<std::size_t>(atom.axis)]
                      : rebuild(atom, [&](const Index& inner) { return substitute(inner, axes); });
    if (atom.kind == IndexAtom::Kind::bounded) value = assume_bounded(value, atom.divisor);
    result = add(result, scale(value, term.coefficient));
  }
  return result;
}

std::optional<Extent> upper_bound(const Index& index) {
  Extent result = index.constant;
  for (const IndexTerm& term : index.terms) {
    if (provably_nonnegative(term.coefficient * Extent(-1))) continue;  // the term is at most 0
    if (!provably_nonnegative(term.coefficient)) return std::nullopt;
    const std::optional<Extent> top = term.atom->largest;
    if (!top) return std::nullopt;
    result = result + term.coefficient * *top;
  }
  return result;
}

std::optional<Extent> lower_bound(const Index& index) {
  const std::optional<Extent> top = upper_bound(negated(index));
  if (!top) return std::nullopt;
  return *top * Extent(-1);
}

bool provably_within(const Index& index, Extent bound) {
  const std::optional<Extent> low = lower_bound(index);
  const std::optional<Extent> high = upper_bound(index);
  return low && high && provably_nonnegative(*low) && provably_less(*high, bound);
}

bool depends_on(const Index& index, int axis) { return (axes_of(index) >> axis & 1) != 0; }

bool has_indirect(const Index& index) {
  return std::ranges::any_of(index.terms,
                             [](const IndexTerm& term) { return term.atom->has_indirect; });
}

std::optional<Extent> coefficient_of(const Index& index, int axis) {
  Extent result = 0;
  for (const IndexTerm& term : index.terms) {
    if (term.atom->kind == IndexAtom::Kind::axis) {
      if (term.atom->axis == axis) result = term.coefficient;
    } else if (depends_on({.constant = 0, .terms = {term}}, axis)) {
      return std::nullopt;
    }
  }
  return result;
}

std::int64_t evaluate(
    const Index& index, std::span<const std::int64_t> axes, std::span<const std::int64_t> symbols,
    const std::function<std::int64_t(const Node*, std::span<const std::int64_t>)>& read) {
  std::int64_t result = evaluate(index.constant, symbols);
  for (const IndexTerm& term : index.terms) {
    const IndexAtom& atom = *term.atom;
    const std::int64_t bound = evaluate(atom.divisor, symbols);
    std::int64_t value = 0;
    switch (atom.kind) {
      case IndexAtom::Kind::axis: value = axes[static_cast<std::size_t>(atom.axis)]; break;
      case IndexAtom::Kind::quotient:
        value = evaluate(atom.numerator, axes, symbols, read) / bound;
        break;
      case IndexAtom::Kind::remainder:
        value = evaluate(atom.numerator, axes, symbols, read) % bound;
        break;
      case IndexAtom::Kind::indirect: {
        std::vector<std::int64_t> at;
        for (const Index& part : atom.at) at.push_back(evaluate(part, axes, symbols, read));
        value = read(atom.tensor, at);
        if (value < 0) value += bound;
        value = std::clamp<std::int64_t>(value, 0, bound - 1);
        break;
      }
      case IndexAtom::Kind::bounded: value = evaluate(atom.numerator, axes, symbols, read); break;
    }
    result += evaluate(term.coefficient, symbols) * value;
  }
  return result;
}

}  // namespace sinter
