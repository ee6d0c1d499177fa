#include <fmt/format.h>

#include <algorithm>

#include "compiler/body/kernel_key.h"
#include "compiler/body_building/body_builder.h"
#include "ir/graph/operand_index.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// True for views that may contain an element several times, such as overlapping windows.
/// Broadcasts do not count, because the axis does not occur in their address.
bool repeats_elements(const Node& node) {
  if (node.op == Op::as_strided) return true;
  return node.op == Op::unfold && attribute(node, "step").integer < attribute(node, "size").integer;
}

/// True if `a` is at least `b` and may be larger.
bool is_larger(Extent a, Extent b) {
  return a != b && (provably_nonnegative(a - b) || (!b.is_number() && divide_exactly(a, b)));
}

bool is_certain(const Condition& condition) {
  const std::optional<Extent> low = lower_bound(condition.at);
  const std::optional<Extent> high = upper_bound(condition.at);
  return low && high && provably_nonnegative(*low - condition.begin) &&
         provably_less(*high, condition.end);
}

bool is_impossible(const Condition& condition) {
  const std::optional<Extent> low = lower_bound(condition.at);
  const std::optional<Extent> high = upper_bound(condition.at);
  return (low && provably_nonnegative(*low - condition.end)) ||
         (high && provably_less(*high, condition.begin)) || condition.begin == condition.end;
}

/// The operands of a concat that may contain its element at `at`.
std::vector<std::size_t> segments_at(const Node& concat, std::span<const Index> at) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < concat.operands.size(); ++i) {
    const Segment segment = concat_segment(concat, i);
    const Condition condition{.at = at[static_cast<std::size_t>(segment.axis)],
                              .begin = segment.begin,
                              .end = segment.end};
    if (is_certain(condition)) return {i};
    if (!is_impossible(condition)) result.push_back(i);
  }
  if (result.empty()) return {0};  // no element exists here
  return result;
}

/// True if `node`, an elementwise op or broadcast, reads `from` at the same position `at`.
bool is_read_there(const Node& from, const Node& node, std::span<const Index> at) {
  if (from.shape.size() != node.shape.size()) return false;
  for (std::size_t axis = 0; axis < at.size(); ++axis)
    if (from.shape[axis] != node.shape[axis] || (from.shape[axis].is(1) && at[axis] != Index{}))
      return false;
  return true;
}

}  // namespace

Body BodyBuilder::build() {
  choose_space();
  if (scatter_) {
    add_scatter();
    return std::move(body_);
  }
  enter(0);
  add_stores();
  return std::move(body_);
}

void BodyBuilder::choose_space() {
  for (const Node* node : request_.nodes)
    if (node->op == Op::scatter) return add_scatter_space(*node);
  for (const Node* node : request_.nodes)
    if (is_reduction(node->op) || is_scan(node->op)) {
      // The first recorded reduction; reductions of its results over the rows come later.
      primary_ = &primary_reduction(*node);
      for (const Extent extent : parallel_extents(*primary_)) add_row_axis(extent);
      body_.space.add_axis(reduced_extent(*primary_));
      body_.has_reduced_axis = true;
      has_columns_ = std::ranges::any_of(request_.nodes, [&](const Node* other) {
        return is_reduction(other->op) && is_over_columns(*other);
      });
      return;
    }
  if (space_node_) {
    for (int axis = 0; axis < space_node_->rank(); ++axis) {
      space_order_.push_back(axis);
      add_row_axis(space_node_->shape[static_cast<std::size_t>(axis)]);
    }
    return;
  }
  // Without a reduction, the largest result is the space, in its memory order. Ties go to the first
  // result that is not reordered.
  const StoreRequest* largest = &request_.stores[0];
  for (const StoreRequest& store : request_.stores) {
    const Extent size = product(store.node->shape), most = product(largest->node->shape);
    const bool is_plainer =
        size == most && reorders_elements(*largest->node) && !reorders_elements(*store.node);
    if (is_larger(size, most) || is_plainer) largest = &store;
  }
  space_node_ = largest->node;
  const auto order = memory_order(strides_of(*largest));
  space_order_.assign(order.begin(), order.end());
  for (const int axis : space_order_)
    add_row_axis(space_node_->shape[static_cast<std::size_t>(axis)]);
}

std::vector<Extent> BodyBuilder::strides_of(const StoreRequest& store) {
  if (store.strides.empty()) return row_major_strides(store.node->shape);
  return {store.strides.begin(), store.strides.end()};
}

void BodyBuilder::add_scatter_space(const Node& node) {
  for (const Extent extent : {node.shape[0], node.shape[1], node.operand(1)->shape[0]})
    body_.space.add_axis(extent);
  body_.parallel_axes = 2;
  row_ = row_index_in(node.shape);
  rows_ = product(node.shape);
  scatter_ = &node;
  for (const Node* other : request_.nodes)
    if (other->op == Op::scatter && std::ranges::equal(other->shape, node.shape) &&
        other->operand(1)->shape[0] == node.operand(1)->shape[0])
      scatters_.push_back(other);
}

int BodyBuilder::scattered(const Node& node, int position) {
  const auto own = std::ranges::find(scatters_, &node);
  if (own == scatters_.end())
    throw Refusal{fmt::format("{} and {} each write their rows in the order of their indices",
                              names_(scatter_), names_(&node))};
  if (body_.space.without_bounds(positions_.number_in(body_.space, position, node.shape)) != row_)
    throw Refusal{fmt::format("{} is available at other positions only after its kernel ends",
                              names_(&node))};
  if (own == scatters_.begin()) return body_.scatter->result;
  return body_.more_scatters[static_cast<std::size_t>(own - scatters_.begin()) - 1].result;
}

Index BodyBuilder::row_index_in(std::span<const Extent> shape) {
  std::vector<Index> axes;
  for (int axis = 0; axis < body_.parallel_axes; ++axis) axes.push_back(row_axis(axis));
  return body_.space.linearize(axes, shape);
}

int BodyBuilder::evaluate(const Node& node, int position) {
  const std::uint64_t key = key_of(node, position);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const int value = compute(node, position);
  known_.try_emplace(key, value);
  const std::span<const Index> at = positions_.at(position);
  if (recorded_nodes_.contains(&node))
    sites_[&node].push_back({.node = &node,
                             .position = {at.begin(), at.end()},
                             .conditions = conditions_,
                             .value = value});
  return value;
}

int BodyBuilder::compute(const Node& node, int position) {
  if (is_free(node)) return free_value(node, positions_.at(position));
  // A stored view that is not computed here is the source of a copy.
  const bool stored_elsewhere =
      node.op == Op::input ||
      (!inside_.contains(&node) && (!is_view(node) || is_stored_by_request(node)));
  if (stored_elsewhere) return load(node, position);
  if (is_reduction(node.op)) return reduced(node, position);
  if (is_scan(node.op)) return scanned(node, position);
  if (node.op == Op::scatter && scatter_ && body_.scatter) return scattered(node, position);
  if (node.op == Op::scatter)
    throw Refusal{fmt::format("{} is available only after its kernel ends", names_(&node))};
  if (is_view(node)) {
    const bool outer = std::exchange(may_repeat_, may_repeat_ || repeats_elements(node));
    const int value = evaluate(*node.operand(0), operand_position(node, 0, position));
    may_repeat_ = outer;
    return value;
  }
  if (node.op == Op::take || node.op == Op::take_along_axis)
    return gather(node, positions_.at(position));
  if (node.op == Op::concat) return select(node, positions_.at(position));
  Value value{.kind = Value::Kind::op, .node = &node, .dtype = node.dtype};
  for (std::size_t i = 0; i < node.operands.size(); ++i)
    value.operands.push_back(evaluate(*node.operand(i), operand_position(node, i, position)));
  return add(std::move(value));
}

int BodyBuilder::operand_position(const Node& node, std::size_t operand, int position) {
  const Node& from = *node.operand(operand);
  const std::span<const Index> at = positions_.at(position);
  const bool is_broadcast = is_elementwise(node.op) || node.op == Op::broadcast_to;
  if (!is_broadcast) return positions_.of(operand_index(body_.space, node, operand, at));
  // A number is the same at every position.
  if (is_read_there(from, node, at) || (is_free(from) && from.op != Op::iota)) return position;
  const auto [known, is_new] =
      broadcasts_.try_emplace({position, positions_.shape(from.shape)}, -1);
  if (is_new) known->second = positions_.of(operand_index(body_.space, node, operand, at));
  return known->second;
}

int BodyBuilder::gather(const Node& node, std::span<const Index> at) {
  std::vector<Index> from = operand_index(body_.space, node, 0, at);
  // Inside a concat, each segment loads its own indices.
  Index& index = from[static_cast<std::size_t>(attribute(node, "axis").integer)];
  const IndexAtom& atom = *index.terms[0].atom;
  index = body_.space.indirect(atom.tensor, atom.at, atom.divisor, branch());
  resolve_indirect(from);
  return evaluate(*node.operand(0), from);
}

int BodyBuilder::free_value(const Node& node, std::span<const Index> at) {
  Value value{.kind = Value::Kind::literal, .node = &node, .dtype = node.dtype};
  if (node.op == Op::scalar) value.kind = Value::Kind::scalar;
  if (node.op == Op::size) {
    value.kind = Value::Kind::number;
    value.at = constant_index(attribute(node, "extent").extent);
  }
  if (node.op == Op::iota) {
    value.kind = Value::Kind::number;
    value.at = body_.space.without_bounds(
        body_.space.add(body_.space.scale(at[0], attribute(node, "step").integer),
                        constant_index(attribute(node, "start").integer)));
    value.varies = varies(value.at);
    value.stage = stage(value.at);
  }
  return add(std::move(value));
}

Index BodyBuilder::load_offset(const Node& node, int position) {
  const bool is_input = node.op == Op::input;
  const std::span<const Extent> strides =
      is_input ? attribute(node, "strides").extents : request_.strides(&node);
  if (strides.empty()) return positions_.offset_in(body_.space, position, node.shape);
  return body_.space.without_bounds(positions_.address_in(body_.space, position, strides));
}

int BodyBuilder::load(const Node& node, int position) {
  resolve_indirect(positions_.at(position));
  Value value{.kind = Value::Kind::load,
              .node = &node,
              .dtype = node.dtype,
              .at = load_offset(node, position),
              .conditions = conditions_,
              .may_repeat = may_repeat_};
  if (request_.aligned) value.aligned = request_.aligned(&node);
  value.varies = varies(value.at);
  value.stage = stage(value.at);
  for (const Condition& condition : conditions_) {
    value.varies |= varies(condition.at);
    value.stage = std::max(value.stage, stage(condition.at));
  }
  if (const std::optional<int> known = read_with_neighbour(value)) return *known;
  return add(std::move(value));
}

std::optional<int> BodyBuilder::read_with_neighbour(const Value& value) {
  if (value.conditions.empty()) return std::nullopt;
  const Condition& segment = value.conditions.back();
  std::vector<std::uint64_t> key = {value.node->id};
  append_words(key, value.at);
  append_words(key, segment.at);
  append_words(key, {value.conditions.begin(), value.conditions.end() - 1});
  std::vector<int>& reads = segments_read_[std::move(key)];
  for (const int read : reads) {
    Value& known = body_.values[static_cast<std::size_t>(read)];
    Condition& other = known.conditions.back();
    if (other.end == segment.begin)
      other.end = segment.end;
    else if (other.begin == segment.end)
      other.begin = segment.begin;
    else
      continue;
    known.may_repeat |= value.may_repeat;
    if (is_certain(other)) {
      known.conditions.pop_back();
      std::erase(reads, read);
    }
    return read;
  }
  reads.push_back(static_cast<int>(body_.values.size()));
  return std::nullopt;
}

int BodyBuilder::select(const Node& node, std::span<const Index> at) {
  const std::vector<std::size_t> segments = segments_at(node, at);
  Value value{.kind = Value::Kind::select, .node = &node, .dtype = node.dtype};
  for (const std::size_t i : segments) {
    const Segment segment = concat_segment(node, i);
    const auto axis = static_cast<std::size_t>(segment.axis);
    std::vector<Index> from = operand_index(body_.space, node, i, at);
    from[axis] = body_.space.assume_bounded(from[axis], segment.end - segment.begin);
    if (segments.size() == 1) return evaluate(*node.operand(i), from);
    Condition condition{
        .at = body_.space.without_bounds(at[axis]), .begin = segment.begin, .end = segment.end};
    value.varies |= varies(condition.at);
    value.stage = std::max(value.stage, stage(condition.at));
    conditions_.push_back(condition);
    value.operands.push_back(evaluate(*node.operand(i), from));
    conditions_.pop_back();
    if (i != segments.back()) value.conditions.push_back(std::move(condition));
  }
  return add(std::move(value));
}

void BodyBuilder::resolve_indirect(std::span<const Index> at) {
  for (const Index& index : at)
    for (const IndexTerm& term : index.terms)
      if (term.atom->has_indirect) resolve_indirect(*term.atom);
}

void BodyBuilder::resolve_indirect(const IndexAtom& atom) {
  resolve_indirect({&atom.numerator, 1});
  if (atom.kind != IndexAtom::Kind::indirect) return;
  const Index written =
      body_.space.without_bounds({.constant = 0, .terms = {{.atom = &atom, .coefficient = 1}}});
  const IndexAtom* read = written.terms[0].atom;
  if (body_.indirect.contains(read)) return;
  const int value = evaluate(*atom.tensor, atom.at);
  body_.indirect[read] = value;
}

int BodyBuilder::branch() {
  if (conditions_.empty()) return 0;
  std::vector<std::uint64_t> key;
  append_words(key, conditions_);
  const int next = static_cast<int>(branches_.size()) + 1;
  return branches_.try_emplace(std::move(key), next).first->second;
}

bool BodyBuilder::varies(const Index& index) const {
  if (!body_.has_reduced_axis) return false;
  return depends_on(index, body_.reduced_axis());
}

int BodyBuilder::stage(const Index& index) const {
  int result = 0;
  for (const IndexTerm& term : index.terms) {
    if (!term.atom->has_indirect) continue;
    result = std::max(result, stage(term.atom->numerator));
    if (const auto found = body_.indirect.find(term.atom); found != body_.indirect.end())
      result = std::max(result, body_.values[static_cast<std::size_t>(found->second)].stage);
  }
  return result;
}

int BodyBuilder::add(Value&& value) {
  for (const int operand : value.operands) {
    value.varies |= body_.values[static_cast<std::size_t>(operand)].varies;
    value.stage = std::max(value.stage, body_.values[static_cast<std::size_t>(operand)].stage);
    value.is_final |= body_.values[static_cast<std::size_t>(operand)].is_final;
  }
  body_.values.push_back(std::move(value));
  return static_cast<int>(body_.values.size()) - 1;
}

std::uint64_t BodyBuilder::key_of(const Node& node, int position) {
  const std::uint64_t id = std::uint64_t{node.id} << 32;
  if (node.operands.empty() && is_free(node) && node.op != Op::iota) return id;
  if (conditions_.empty()) return id + static_cast<std::uint32_t>(position);
  const int next = -1 - static_cast<int>(positions_in_branches_.size());
  return id + static_cast<std::uint32_t>(
                  positions_in_branches_.try_emplace({position, branch()}, next).first->second);
}

}  // namespace sinter
