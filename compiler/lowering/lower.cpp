#include "compiler/lowering/lower.h"

#include "compiler/lowering/lower_reductions.h"
#include "compiler/program/guards.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/simplify/fold.h"
#include "compiler/simplify/graph_sweep.h"
#include "ir/collectives/collective_node.h"
#include "ir/types/casts.h"
#include "sinter/error.h"

#include <algorithm>
#include <limits>

namespace sinter {

namespace {

/// The result of a reduction over no elements.
Literal identity_of(Op op, DType dtype) {
  if (op == Op::sum) return cast_literal(Literal::of(0), dtype);
  if (op == Op::prod) return cast_literal(Literal::of(1), dtype);
  const bool lowest = op != Op::min;  // of max and logsumexp
  if (is_floating(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return {.kind = Literal::Kind::real, .real = lowest ? -infinity : infinity};
  }
  return integer_literal(lowest ? lowest_integer(dtype) : highest_integer(dtype), dtype);
}

/// Results of lowering other than nodes.
struct Notes {
  std::vector<Guard> guards;
  /// Names derived from labels. They are set after all user labels, which take precedence.
  std::vector<std::pair<const Node*, std::string>> labels;
};

/// Lowers one recorded reduction to nodes of the same graph.
class Lowering {
 public:
  Lowering(GraphData& graph, const Facts& facts, Notes& notes, const Node& node)
      : graph_(graph),
        facts_(facts),
        notes_(notes),
        node_(node),
        location_(graph.location(&node)),
        first_new_id_(graph.nodes.size()) {}

  const Node* run() {
    if (product(node_.shape).is(0)) return zero(node_.dtype).node();  // it has no element
    switch (node_.op) {
      case Op::sum:
      case Op::prod:
      case Op::logsumexp: return cast_to(node_.dtype, reduce(node_.op, accumulated()));
      case Op::mean: return cast_to(node_.dtype, mean_of(accumulated()));
      case Op::var: return cast_to(node_.dtype, variance());
      case Op::welford: return cast_to(node_.dtype, squared_deviations());
      case Op::cumsum:
      case Op::cumprod: return cast_to(node_.dtype, scan(accumulated()));
      case Op::cummax:
      case Op::cummin: return cast_to(node_.dtype, scan(comparable()));
      case Op::argmax:
      case Op::argmin: return arg_extreme().node();
      case Op::any: return cast_to(boolean, extreme(Op::max));
      case Op::all: return cast_to(boolean, extreme(Op::min));
      default: return cast_to(node_.dtype, extreme(node_.op));
    }
  }

 private:
  Operand operand(Tensor x) const { return {x, location_.file, location_.line}; }
  Tensor operand() const { return tensor(graph_, node_.operand(0)); }
  Keep keep() const { return keeps_axes(node_) ? Keep::yes : Keep::no; }

  /// Names `x` after the lowered node, if that has a label.
  Tensor named(Tensor x, std::string_view suffix) {
    const std::string_view label = graph_.label(&node_);
    if (!label.empty() && x.node()->id >= first_new_id_)
      notes_.labels.emplace_back(x.node(), std::string(label) + "_" + std::string(suffix));
    return x;
  }

  const Node* cast_to(DType dtype, Tensor x) { return cast(operand(x), dtype).node(); }

  /// The operand in its accumulator dtype.
  Tensor accumulated() {
    return cast(operand(operand()), info(node_.operand(0)->dtype).accumulator);
  }

  Levels levels() {
    return levels_of(operand().shape(), reduction_order(node_), facts_, notes_.guards);
  }

  Tensor reduce(Op op, Tensor x) {
    if (reduced_extent(node_).is(0)) return filled(identity_of(op, x.dtype()), x.dtype());
    return reduce_levels(op, x, levels(), keep(), location_);
  }

  Tensor filled(Literal value, DType dtype) {
    const Attribute attributes[] = {{.extents = node_.shape}, {.literal = value}, {.dtype = dtype}};
    return tensor(graph_, graph_.make({.op = Op::full,
                                       .dtype = dtype,
                                       .operands = {},
                                       .shape = node_.shape,
                                       .attributes = attributes},
                                      location_));
  }
  Tensor zero(DType dtype) { return filled(identity_of(Op::sum, dtype), dtype); }

  /// The operand in a dtype that threads can exchange: at least 4 bytes wide.
  Tensor comparable() {
    const DType dtype = operand().dtype();
    const bool is_small = !is_floating(dtype) && size_of(dtype) < 4;
    return is_small ? cast(operand(operand()), i32) : operand();
  }

  Tensor scan(Tensor x) {
    const Extent size = reduced_extent(node_);
    if (size.is(0) || size.is(1)) return x;  // -0 stays -0, because sums start at -0
    if (x.node() == node_.operand(0)) return tensor(graph_, &node_);
    return record_scan(node_.op, operand(x), reduced_axes(node_)[0], {});
  }

  Tensor extreme(Op op) {
    const DType dtype = node_.dtype;
    if (reduced_extent(node_).is(0)) return filled(identity_of(op, dtype), dtype);
    const Tensor x = comparable();
    const Tensor result = reduce(op, x);
    if (x.dtype() == dtype || reduced_extent(node_).is_number()) return result;
    // A symbolic extent may be 0. The reduction then gives the extreme of the wider dtype, so clamp
    // it.
    const Operand end(identity_of(op, dtype), location_);
    return op == Op::max ? maximum(operand(result), end) : minimum(operand(result), end);
  }

  Tensor arg_extreme() {
    if (reduced_extent(node_).is(1)) return zero(node_.dtype);
    const Tensor x = comparable();
    if (x.node() == node_.operand(0)) return tensor(graph_, &node_);
    return record_reduction(node_.op, operand(x), reduced_axes(node_), {.keep = keep()});
  }

  Tensor divided(Tensor sum, Extent count) {
    return div(operand(sum), operand(record_size(graph_, count, sum.dtype(), location_)));
  }

  Tensor mean_of(Tensor x) {
    return divided(named(reduce(Op::sum, x), "sum"), reduced_extent(node_));
  }

  Tensor variance() {
    const Extent correction = attribute(node_, "correction").integer;
    return divided(named(squared_deviations(), "squares"), reduced_extent(node_) - correction);
  }

  /// The sum of (x - mean)².
  Tensor squared_deviations() {
    const Tensor x = accumulated();
    if (reduced_extent(node_).is(0)) return zero(x.dtype());
    if (!takes_two_passes()) return reduce(Op::welford, x);
    // Uses the same nodes as a recorded `mean`, so that both are shared.
    const Tensor mean = named(mean_of(x), "mean");
    ShapeVector kept(x.shape().begin(), x.shape().end());
    for (const std::int64_t axis : reduced_axes(node_)) kept[static_cast<std::size_t>(axis)] = 1;
    const Tensor mean_kept = reshape(operand(mean), kept);
    const Tensor deviation = named(sub(operand(x), operand(mean_kept)), "deviation");
    return reduce(Op::sum, mul(operand(deviation), operand(deviation)));
  }

  bool takes_two_passes() {
    // A second level cannot combine partial Welford states as if they were elements.
    if (levels().size() != 1) return true;
    const Extent count = reduced_extent(node_);
    const std::int64_t limit = reduces_last_axis() ? kLargestTwoPassRow : kLargestTwoPassColumn;
    const bool small = evaluate(count, facts_.symbols) <= limit;
    add_guard(notes_.guards,
              {.value = count,
               .low = small ? 0 : limit + 1,
               .high = small ? limit : std::numeric_limits<std::int64_t>::max(),
               .reason = small ? "a variance of few elements takes two passes"
                               : "a variance of many elements uses Welford's algorithm"});
    return small;
  }

  /// True if the last axis with more than one position is reduced.
  bool reduces_last_axis() {
    const std::span<const Extent> shape = operand().shape();
    std::int64_t last = std::ssize(shape) - 1;
    while (last > 0 && shape[static_cast<std::size_t>(last)].is(1)) --last;
    return std::ranges::count(reduced_axes(node_), last) > 0;
  }

  GraphData& graph_;
  const Facts& facts_;
  Notes& notes_;
  const Node& node_;
  Location location_;
  std::size_t first_new_id_;
};

}  // namespace

Lowered lower(const Graph& recorded, std::span<const Node* const> needed, const Facts& facts) {
  ensure(facts.symbols.size() >= recorded.data().extents->symbols().size(),
         "a symbol has no value to plan for");
  Notes notes;
  std::int64_t collectives = 0;
  Graph lowered = clone_rewritten(recorded, needed, [&](GraphData& graph, const Node* node) {
    if (is_collective(node->op)) return with_sequence(graph, *node, ++collectives);
    if (!is_reduction(node->op) && !is_scan(node->op)) return node;
    return Lowering(graph, facts, notes, *node).run();
  });
  GraphData& graph = lowered.data();
  for (const auto& [node, label] : notes.labels)
    if (graph.label(node).empty()) graph.set_label(node, label);
  unroll_small_reductions(graph);
  return {.graph = std::move(lowered), .guards = std::move(notes.guards)};
}

}  // namespace sinter
