#include "ir/collectives/collective_node.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "ir/text/lexer.h"

namespace sinter {

namespace {

constexpr std::array<std::string_view, 5> kReductions = {"sum", "prod", "max", "min", "mean"};

}  // namespace

bool reduces_over_ranks(Op op) {
  return op == Op::all_reduce || op == Op::reduce_scatter || op == Op::reduce_to;
}

std::string_view group_of(const Node& node) { return attribute(node, "group").text; }

std::int64_t ranks_of(const Node& node) { return attribute(node, "ranks").integer; }

std::int64_t sequence_of(const Node& node) { return attribute(node, "sequence").integer; }

const Node* with_sequence(GraphData& graph, const Node& node, std::int64_t sequence) {
  llvm::SmallVector<Attribute, 4> attributes(node.attributes.begin(), node.attributes.end());
  attributes.back().integer = sequence;  // the last one of each collective
  return graph.make({.op = node.op,
                     .dtype = node.dtype,
                     .operands = node.operands,
                     .shape = node.shape,
                     .attributes = attributes},
                    graph.location(&node));
}

RankReduction rank_reduction_of(const Node& node) {
  if (node.op == Op::reduce_to) return RankReduction::sum;
  const auto reduction = rank_reduction(attribute(node, "reduction").text);
  ensure(reduction.has_value(), "a collective has the name of its reduction");
  return *reduction;
}

std::string_view to_string(RankReduction reduction) {
  return kReductions[static_cast<std::size_t>(reduction)];
}

std::optional<RankReduction> rank_reduction(std::string_view text) {
  const auto found = std::ranges::find(kReductions, text);
  if (found == kReductions.end()) return std::nullopt;
  return static_cast<RankReduction>(found - kReductions.begin());
}

bool can_reduce_over_ranks(DType dtype) {
  switch (dtype) {
    case boolean:
    case i16:
    case u16:
    case f8e4m3:
    case f8e5m2:
    case c64: return false;
    default: return true;
  }
}

void check_parts(std::string_view op, const Node& x, std::int64_t axis, std::int64_t ranks,
                 Location location) {
  const Extent extent = x.shape[static_cast<std::size_t>(axis)];
  if (floor_div(extent, ranks) * Extent(ranks) == extent) return;
  const std::string text = to_string(extent);
  fail(op,
       extent.is_number()
           ? fmt::format("axis {} of {} has {} elements, which are not a multiple of the {} ranks; "
                         "pad it",
                         axis, type_text(x), text, ranks)
           : fmt::format("axis {0} of {1} has {2} elements, which may not be a multiple of the {3} "
                         "ranks; record the axis as a symbol times {3}",
                         axis, type_text(x), text, ranks),
       location);
}

ShapeVector collective_shape(Op op, const Node& x, std::int64_t ranks, Location location) {
  ShapeVector shape(x.shape.begin(), x.shape.end());
  const bool cuts = op == Op::reduce_scatter || op == Op::all_to_all;
  if (!cuts && op != Op::all_gather) return shape;
  if (shape.empty())
    fail(info(op).name, fmt::format("the operand is {}; it must have an axis", type_text(x)),
         location);
  if (op == Op::all_gather) {
    shape[0] = shape[0] * Extent(ranks);
    check_size(info(op).name, shape, location);
    return shape;
  }
  check_parts(info(op).name, x, 0, ranks, location);
  if (op == Op::reduce_scatter) shape[0] = floor_div(shape[0], ranks);
  return shape;
}

void check_pairs(std::span<const std::int64_t> pairs, std::int64_t ranks, Location location) {
  constexpr std::string_view kOp = "send_receive";
  if (pairs.size() % 2 != 0)
    fail(kOp, fmt::format("pairs has {} numbers; it needs two per pair, from and to", pairs.size()),
         location);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i] < 0 || pairs[i] >= ranks)
      fail(kOp, fmt::format("there is no rank {}; the ranks are 0 to {}", pairs[i], ranks - 1),
           location);
    for (std::size_t before = i % 2; before < i; before += 2)
      if (pairs[before] == pairs[i])
        fail(kOp,
             fmt::format("rank {} {} twice; use two calls", pairs[i],
                         i % 2 == 0 ? "sends" : "receives"),
             location);
  }
}

void check_group(std::string_view op, const GraphData& graph, const RankGroup& group,
                 Location location) {
  constexpr int kMostRanks = 1 << 20;
  if (group.name.empty()) fail(op, "the group has no name; give it one", location);
  if (group.size < 1 || group.size > kMostRanks)
    fail(op,
         fmt::format("group {} has {} ranks; it must have 1 to {}", printable(group.name),
                     group.size, kMostRanks),
         location);
  // All earlier uses of a name agree, so the latest one tells.
  const auto last = std::find_if(graph.nodes.rbegin(), graph.nodes.rend(), [&](const Node* node) {
    return is_collective(node->op) && group_of(*node) == group.name;
  });
  if (last == graph.nodes.rend() || ranks_of(**last) == group.size) return;
  fail(op,
       fmt::format("group {} has {} ranks here, but {} in the {} that was recorded at {}; give "
                   "groups of different sizes different names",
                   printable(group.name), group.size, ranks_of(**last), info((*last)->op).name,
                   graph.location_text(*last)),
       location);
}

}  // namespace sinter
