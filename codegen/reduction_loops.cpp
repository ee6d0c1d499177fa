#include "codegen/reduction_loops.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/cost.h"

namespace sinter {

TreePlan plan_tree(const KernelWriter& writer, int vector_chunks) {
  const Schedule& schedule = writer.schedule;
  const Extent extent = writer.body.reduced_size();
  TreePlan plan;
  plan.tree = tree_of(evaluate(extent, writer.program.facts.symbols));
  plan.vector_chunks = vector_chunks;
  plan.lanes = schedule.threads_per_row / schedule.groups;
  plan.parts_per_group =
      static_cast<int>(plan.tree.parts) / (schedule.groups * schedule.blocks_per_row());
  plan.accumulators_per_thread =
      static_cast<int>(plan.tree.accumulators) / (plan.lanes * vector_chunks);
  plan.is_fixed = extent.is_number();
  const std::int64_t stride = std::int64_t{plan.lanes} * vector_chunks;
  const Tree& tree = plan.tree;
  plan.tiles = (tree.chunks_per_part + stride - 1) / stride;
  plan.whole_vectors = divisor_of(extent, writer.program.facts) % (kChunk * vector_chunks) == 0;
  if (plan.is_fixed) {
    // A loop that goes round the accumulators ends with a whole round.
    const bool whole_rounds = plan.tiles <= plan.accumulators_per_thread ||
                              plan.tiles % plan.accumulators_per_thread == 0;
    plan.whole_parts = plan.tiles * stride == tree.chunks_per_part && whole_rounds;
    // The last part is the shortest.
    const std::int64_t last = tree.extent - (tree.parts - 1) * tree.chunks_per_part * kChunk;
    plan.whole_tiles = std::max<std::int64_t>(last, 0) / (stride * kChunk);
    plan.whole_extent = tree.parts * tree.chunks_per_part * kChunk == tree.extent;
  }
  return plan;
}

std::vector<int> declare_reductions(KernelWriter& writer, std::string_view type, int parts,
                                    int pass) {
  std::vector<int> result;
  for (std::size_t i = 0; i < writer.body.reductions.size(); ++i) {
    const BodyReduction& reduction = writer.body.reductions[i];
    if (reduction.stage != pass) continue;
    const std::string name = writer.name_for(reduction.node, "_tree");
    writer.out.line(fmt::format("{}<{}, Shape, {}> {};", type, writer.state_type(*reduction.node),
                                parts, name));
    writer.set_result(reduction, name);
    result.push_back(static_cast<int>(i));
  }
  return result;
}

std::vector<int> stores_of_pass(const Body& body, int pass) {
  std::vector<int> result;
  for (std::size_t i = 0; i < body.stores.size(); ++i)
    if (body.stores[i].varies && body.stores[i].stage == pass)
      result.push_back(static_cast<int>(i));
  return result;
}

std::string chunks_text(const TreePlan& plan) {
  if (plan.is_fixed) return std::to_string(plan.tree.chunks_per_part);
  return "chunks";
}

std::string part_start(KernelWriter& writer, const TreePlan& plan, const std::string& part) {
  const int groups = writer.schedule.groups * writer.schedule.blocks_per_row();
  if (plan.tree.parts == 1) return "0";
  const std::string_view group =
      writer.schedule.blocks_per_row() == 1 ? "Shape::group()" : "Shape::group_of_cluster()";
  std::string number = groups == 1 ? part
                       : part.empty() || part == "0"
                           ? std::string(group)
                           : fmt::format("({} * {} + {})", part, groups, group);
  return fmt::format("{} * {}", number, chunks_text(plan));
}

void write_tile_loops(KernelWriter& writer, const TreePlan& plan, bool unroll_tiles,
                      const std::function<void(const std::string&)>& tile_body,
                      const std::function<void(const std::string&)>& finish_part) {
  SourceWriter& out = writer.out;
  const int per_thread = plan.accumulators_per_thread;
  const auto tiles = [&] {
    if (unroll_tiles || (plan.is_fixed && plan.tiles <= per_thread)) {
      out.unrolled("tile", std::to_string(plan.tiles), [&] { tile_body("tile"); });
      return;
    }
    // A thread goes round its accumulators; only the round is unrolled.
    const std::string end =
        plan.is_fixed ? std::to_string(plan.tiles)
                      : fmt::format("(chunks + {}) / {}", plan.lanes * plan.vector_chunks - 1,
                                    plan.lanes * plan.vector_chunks);
    out.directive("#pragma unroll 1");
    out.block(fmt::format("for (int step = 0; step < {}; step += {})", end, per_thread), [&] {
      out.unrolled("i", std::to_string(per_thread), [&] {
        out.line("const int tile = step + i;");
        tile_body("i");
      });
    });
  };
  if (plan.parts_per_group == 1) {
    tiles();
    finish_part("0");
    return;
  }
  out.directive(unroll_tiles ? "#pragma unroll" : "#pragma unroll 1");
  out.block(fmt::format("for (int part = 0; part < {}; ++part)", plan.parts_per_group), [&] {
    tiles();
    finish_part("part");
  });
}

int widest_state(const KernelWriter& writer) {
  int widest = 0;
  for (const BodyReduction& reduction : writer.body.reductions)
    widest = std::max(widest, state_bytes(*reduction.node));
  for (const BodyReduction& reduction : writer.body.finals)
    widest = std::max(widest, state_bytes(*reduction.node));
  return widest;
}

void declare_exchange(KernelWriter& writer, std::int64_t per_use) {
  const std::int64_t half = (per_use + 15) / 16 * 16;
  writer.source.shared_bytes = 2 * half;
  writer.out.line(fmt::format("Exchange exchange = {{shared_memory(), {}, 0}};", half));
}

std::string empty_result(const BodyReduction& reduction) {
  const std::string_view type = compute_c_type(reduction.node->dtype);
  switch (reduction.node->op) {
    case Op::max:
    case Op::logsumexp: return fmt::format("Ends<{}>::lowest()", type);
    case Op::min: return fmt::format("Ends<{}>::highest()", type);
    case Op::prod: return fmt::format("static_cast<{}>(1)", type);
    default: return fmt::format("static_cast<{}>(0)", type);
  }
}

}  // namespace sinter
