// Handles concats whose segments read the same memory, such as the halves of rotary embeddings and
// of gated units. One position of the space then computes an element of each segment, and loads
// shared data once.
#include <algorithm>
#include <utility>

#include "compiler/body/body_request.h"
#include "compiler/body/footprint.h"
#include "compiler/body_building/body_builder.h"

namespace sinter {

namespace {

/// Minimum number of elements of a segment along the last axis, so that vectors fit.
constexpr std::int64_t kMinSegmentLength = 16;
constexpr int kMaxConcatSegments = 4;

/// The split that computes all segments of `select`, a concat along an axis of the rows, at one
/// position. Returns nullopt if its segments differ in size.
std::optional<ConcatSplit> split_between(const Body& body, const Value& select) {
  const auto segments = static_cast<int>(select.operands.size());
  const Index& at = select.conditions[0].at;
  if (segments > kMaxConcatSegments || at.terms.size() != 1) return std::nullopt;
  const IndexAtom& atom = *at.terms[0].atom;
  if (atom.kind != IndexAtom::Kind::axis || atom.axis >= body.parallel_axes) return std::nullopt;
  const std::optional<Extent> size = divide_exactly(body.space.extent(atom.axis), Extent(segments));
  if (!size) return std::nullopt;
  for (std::size_t i = 0; i < select.conditions.size(); ++i) {
    const Condition& condition = select.conditions[i];
    const Extent begin = *size * Extent(static_cast<std::int64_t>(i));
    const bool is_next = condition.at == at && at.constant.is(0) && at.terms[0].coefficient.is(1) &&
                         condition.begin == begin && condition.end == begin + *size;
    if (!is_next) return std::nullopt;
  }
  const bool is_along = !body.has_reduced_axis && atom.axis == body.parallel_axes - 1;
  if (is_along && (!size->is_number() || size->number() % kMinSegmentLength != 0))
    return std::nullopt;
  return ConcatSplit{.axis = atom.axis, .segments = segments};
}

std::vector<ConcatSplit> splits_of(const Body& body) {
  std::vector<ConcatSplit> result;
  if (body.scatter || body.scan || !body.finals.empty() || !body.columns.empty()) return result;
  for (const Value& value : body.values) {
    if (value.kind != Value::Kind::select) continue;
    const std::optional<ConcatSplit> split = split_between(body, value);
    if (split && std::ranges::find(result, *split) == result.end()) result.push_back(*split);
  }
  return result;
}

Extent bytes_read(const Body& body) {
  Extent result = 0;
  for (const Value& value : body.values)
    if (value.kind == Value::Kind::load)
      result = result + footprint_of(body, value).elements * Extent(size_of(value.dtype));
  return result;
}

bool reads_less(const Body& body, const Body& other) {
  return provably_less(bytes_read(body), bytes_read(other));
}

/// True if `body` computes less than a quarter of `other`. Every position of a select computes all
/// its alternatives.
bool computes_far_less(const Body& body, const Body& other) {
  const auto computed = [](const Body& of) {
    const auto ops = std::ranges::count(of.values, Value::Kind::op, &Value::kind);
    return of.parallel_size() * Extent(static_cast<std::int64_t>(ops));
  };
  return provably_less(computed(body) * Extent(4), computed(other));
}

/// True if vectors run along another axis than `axis`, and every load along `axis` belongs to one
/// segment at a data-independent position. Other kernels that read such a segment have the same
/// iteration space.
bool reads_segments_alone(const Body& body, int axis) {
  return axis + 1 < body.parallel_axes && body.indirect.empty() &&
         std::ranges::all_of(body.values, [&](const Value& value) {
           return value.kind != Value::Kind::load || !value.conditions.empty() ||
                  !depends_on(value.at, axis);
         });
}

/// True for views that keep the order of elements.
bool keeps_order(const Node& view) {
  if (view.op == Op::reshape) return true;
  if (view.op != Op::permute) return false;
  std::int64_t last = -1;
  for (const std::int64_t axis : attribute(view, "axes").integers) {
    if (view.operand(0)->shape[static_cast<std::size_t>(axis)].is(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

/// The node that `view` is a slice of, in the same order; nullptr if it is not a slice.
const Node* base_of_slice(const Node& view) {
  const Node* base = &view;
  bool is_slice = false;
  for (; keeps_order(*base) || base->op == Op::slice; base = base->operand(0))
    is_slice |= base->op == Op::slice;
  return is_slice ? base : nullptr;
}

/// The computed nodes that the results of `request` are slices of.
std::vector<const Node*> bases_of_slices(const BodyRequest& request) {
  std::vector<const Node*> result;
  for (const StoreRequest& store : request.stores) {
    const Node* base = base_of_slice(*store.node);
    const bool is_inside =
        base && std::ranges::binary_search(request.nodes, base->id, {}, &Node::id);
    if (is_inside && std::ranges::find(result, base) == result.end()) result.push_back(base);
  }
  return result;
}

}  // namespace

void BodyBuilder::add_row_axis(Extent extent) {
  rows_ = rows_ * extent;
  if (body_.parallel_axes == concat_split_.axis)
    extent = *divide_exactly(extent, concat_split_.segments);
  body_.space.add_axis(extent);
  ++body_.parallel_axes;
}

Index BodyBuilder::row_axis(int axis) {
  const Index own = body_.space.axis(axis);
  if (axis != concat_split_.axis || segment_ == 0) return own;
  return body_.space.add(own, constant_index(body_.space.extent(axis) * Extent(segment_)));
}

void BodyBuilder::enter(int segment) {
  segment_ = segment;
  if (std::exchange(entered_, segment) == segment) return;
  if (scatter_) return;  // all rows of a scatter are in one segment
  positions_of_numbers_.clear();
  if (!primary_) {
    std::vector<Index> position(space_node_->shape.size());
    for (std::size_t i = 0; i < space_order_.size(); ++i)
      position[static_cast<std::size_t>(space_order_[i])] = row_axis(static_cast<int>(i));
    row_ = body_.space.linearize(position, space_node_->shape);
    return;
  }
  row_ = row_index_in(parallel_extents(*primary_));
  operand_positions_.clear();
  // The element order of the primary operand, which stores of its size follow.
  element_ = body_.space.linearize(positions_.at(operand_position(*primary_)),
                                   primary_->operand(0)->shape);
}

Body split_concat_if_fewer_bytes(Body body, const BodyRequest& request, const NodeNames& names) {
  const auto built = [&](ConcatSplit split, const Node* space_node) -> std::optional<Body> {
    try {
      return BodyBuilder(request, names, split, {}, space_node).build();
    } catch (const Refusal&) {
      return std::nullopt;  // some result does not consist of these segments
    }
  };
  for (const ConcatSplit split : splits_of(body))
    if (std::optional<Body> other = built(split, nullptr)) {
      const Extent saved = bytes_read(body) - bytes_read(*other);
      if (provably_less(Extent(0), saved)) return std::move(*other);
      if (saved.is(0) && reads_segments_alone(body, split.axis)) return std::move(*other);
    }
  if (body.has_reduced_axis || body.scatter) return body;
  for (const Node* space_node : bases_of_slices(request))
    if (std::optional<Body> other = built({}, space_node); other && reads_less(*other, body))
      return std::move(*other);
  for (const Node* space_node : candidate_spaces(request)) {
    std::optional<Body> other = built({}, space_node);
    if (!other) continue;
    if (reads_less(*other, body) || (!reads_less(body, *other) && computes_far_less(*other, body)))
      return std::move(*other);
  }
  return body;
}

}  // namespace sinter
