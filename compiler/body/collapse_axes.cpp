// Merges adjacent parallel axes, since [rows, 4096] read in order is one axis of rows * 4096. Also
// flattens all axes into one, possibly in another order.
#include <algorithm>
#include <utility>
#include <vector>

#include "compiler/body/access.h"
#include "compiler/body/body.h"
#include "compiler/body/collapse_axes.h"

namespace sinter {

namespace {

/// Calls `visit` with every index expression of the body, including those inside atoms, but not
/// with the conditions of stores.
void for_each_index(const Body& body, const std::function<void(const Index&)>& visit) {
  for (const Value& value : body.values) {
    visit(value.at);
    for (const Condition& condition : value.conditions) visit(condition.at);
  }
  for (const BodyStore& store : body.stores) visit(store.at);
  for (const auto& [atom, value] : body.indirect)
    for (const Index& at : atom->at) visit(at);
}

/// True if one step of `axis` moves `index` by as much as the whole next axis.
bool is_contiguous_with_next(const Body& body, const Index& index, int axis) {
  // An axis inside a quotient or remainder prevents merging, which would only move the division
  // there.
  const std::optional<Extent> outer = coefficient_of(index, axis);
  const std::optional<Extent> inner = coefficient_of(index, axis + 1);
  return outer && inner && *outer == *inner * body.space.extent(axis + 1);
}

/// True for a condition `begin <= axis + … < end` that does not depend on the next axis.
bool can_widen(const Index& index, int axis) {
  return has_unit_stride(index, axis) && !depends_on(index, axis + 1);
}

bool can_merge(const Body& body, int axis) {
  bool result = true;
  for_each_index(body, [&](const Index& index) {
    result = result && is_contiguous_with_next(body, index, axis);
  });
  for (const BodyStore& store : body.stores)
    for (const Condition& condition : store.conditions)
      result = result &&
               (is_contiguous_with_next(body, condition.at, axis) || can_widen(condition.at, axis));
  return result;
}

/// Extends store conditions on `axis` to the next axis: b <= a < e is b·n <= a·n + i < e·n for
/// every i below n.
void widen_conditions(Body& body, int axis) {
  const Extent extent = body.space.extent(axis + 1);
  for (BodyStore& store : body.stores)
    for (Condition& condition : store.conditions) {
      if (!can_widen(condition.at, axis)) continue;
      condition.at =
          body.space.add(body.space.scale(condition.at, extent), body.space.axis(axis + 1));
      condition.begin = condition.begin * extent;
      condition.end = condition.end * extent;
    }
}

class AxisRewriter {
 public:
  AxisRewriter(Body& body, std::span<const Index> axes, IndexSpace& space)
      : body_(body), axes_(axes), space_(space) {}

  void run() {
    for (Value& value : body_.values) {
      if (!value.at.is_constant()) value.at = rewritten(value.at);
      for (Condition& condition : value.conditions)
        condition.at = space_.substitute(condition.at, axes_);
    }
    for (BodyStore& store : body_.stores) {
      store.at = rewritten(store.at);
      for (Condition& condition : store.conditions)
        condition.at = space_.substitute(condition.at, axes_);
      store.position.clear();
    }
    DenseMap<const IndexAtom*, int> indirect;
    for (const auto& [atom, value] : body_.indirect) {
      std::vector<Index> at;
      for (const Index& index : atom->at) at.push_back(space_.substitute(index, axes_));
      const Index read = space_.indirect(atom->tensor, std::move(at), atom->divisor, atom->branch);
      indirect[read.terms[0].atom] = value;
    }
    body_.indirect = std::move(indirect);
  }

 private:
  /// `index` over the new axes. Most arrays of a body are read at one of a few positions.
  Index rewritten(const Index& index) {
    if (index.is_constant()) return index;
    for (const auto& [from, to] : latest_)
      if (from == index) return to;
    Index result = space_.substitute(index, axes_);
    constexpr std::size_t kMaxCached = 4;
    if (latest_.size() < kMaxCached) latest_.emplace_back();
    latest_[next_++ % kMaxCached] = {index, result};
    return result;
  }

  Body& body_;
  std::span<const Index> axes_;
  IndexSpace& space_;
  std::vector<std::pair<Index, Index>> latest_;
  std::size_t next_ = 0;
};

std::vector<Extent> parallel_shape(const Body& body) {
  std::vector<Extent> shape;
  for (int axis = 0; axis < body.parallel_axes; ++axis) shape.push_back(body.space.extent(axis));
  return shape;
}

/// `body` over `space`, whose axes are all parallel. `rows` are the parallel axes of `body` in it.
Body over_axes(Body body, IndexSpace space, std::vector<Index> rows) {
  const int parallel_axes = space.axis_count();
  if (body.has_reduced_axis) rows.push_back(space.add_axis(body.reduced_size()));
  AxisRewriter(body, rows, space).run();
  body.space = std::move(space);
  body.parallel_axes = parallel_axes;
  return body;
}

/// True if there is nothing to merge and all addresses are affine.
bool is_collapsed(const Body& body) {
  if (body.parallel_axes > 1 || (body.parallel_axes == 1 && body.space.extent(0).is(1)))
    return false;
  const auto are_affine = [](std::span<const Condition> conditions) {
    return std::ranges::all_of(conditions, is_affine, &Condition::at);
  };
  return body.indirect.empty() &&
         std::ranges::all_of(body.values,
                             [&](const Value& value) {
                               return is_affine(value.at) && are_affine(value.conditions);
                             }) &&
         std::ranges::all_of(body.stores, [&](const BodyStore& store) {
           return is_affine(store.at) && are_affine(store.conditions);
         });
}

}  // namespace

Body collapse_axes(Body body) {
  if (body.scatter) return body;  // each of its axes has a meaning
  if (is_collapsed(body)) {
    for (BodyStore& store : body.stores) store.position.clear();
    return body;
  }
  // Runs of axes that merge: starts[i] is true if axis i starts a new run.
  std::vector<bool> starts(static_cast<std::size_t>(body.parallel_axes), true);
  for (int axis = 0; axis + 1 < body.parallel_axes; ++axis) {
    const bool is_one = body.space.extent(axis).is(1) || body.space.extent(axis + 1).is(1);
    const bool merges = is_one || can_merge(body, axis);
    if (merges && !is_one) widen_conditions(body, axis);
    starts[static_cast<std::size_t>(axis) + 1] = !merges;
  }

  IndexSpace space;
  std::vector<Index> axes;
  for (int axis = 0; axis < body.parallel_axes;) {
    std::vector<Extent> shape;
    do shape.push_back(body.space.extent(axis++));
    while (axis < body.parallel_axes && !starts[static_cast<std::size_t>(axis)]);
    const Index merged = space.add_axis(product(shape));
    const std::vector<Index> parts = space.delinearize(merged, shape);
    axes.insert(axes.end(), parts.begin(), parts.end());
  }
  return over_axes(std::move(body), std::move(space), std::move(axes));
}

StripPosition strip_position(IndexSpace& space, const Index& row, std::int64_t outer,
                             std::int64_t strip) {
  const Index strips = space.divide(row, strip);
  const Index first = space.scale(space.divide(row, strip * outer), strip);
  return {.outer = space.modulo(strips, outer),
          .channel = space.add(first, space.modulo(row, strip))};
}

Body in_strips(Body body, std::int64_t outer, std::int64_t strip) {
  const std::vector<Extent> shape = parallel_shape(body);
  const std::int64_t rows = product(shape).number();
  IndexSpace space;
  const StripPosition at = strip_position(space, space.add_axis(rows), outer, strip);
  std::vector<Index> axes =
      space.delinearize(space.add(space.scale(at.outer, rows / outer), at.channel), shape);
  return over_axes(std::move(body), std::move(space), std::move(axes));
}

Body in_one_axis(Body body) {
  const std::vector<Extent> shape = parallel_shape(body);
  IndexSpace space;
  std::vector<Index> axes = space.delinearize(space.add_axis(product(shape)), shape);
  return over_axes(std::move(body), std::move(space), std::move(axes));
}

bool is_linear_position(const Body& body, const Index& at, std::int64_t width) {
  const int axes = body.parallel_axes + (body.has_reduced_axis ? 1 : 0);
  if (!has_unit_stride(at, axes - 1) || !at.constant.is_number() ||
      at.constant.number() % width != 0)
    return false;
  for (int axis = 0; axis + 1 < axes; ++axis)
    if (!is_contiguous_with_next(body, at, axis)) return false;
  return is_affine(at);
}

}  // namespace sinter
