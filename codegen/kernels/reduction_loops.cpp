#include "codegen/kernels/reduction_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "codegen/text/traffic_snapshot.h"
#include "compiler/candidates/candidate_list.h"
#include "compiler/program/op_cost.h"
#include "compiler/program/size_class.h"
#include "ir/support/round_up.h"

namespace sinter {

TreePlan plan_tree(const KernelWriter& writer, int vector_chunks) {
  const Schedule& schedule = writer.schedule;
  const Extent extent = writer.body.reduced_size();
  TreePlan plan;
  const bool keeps_rows = schedule.resident || !writer.body.columns.empty();
  const std::int64_t planned = evaluate(extent, writer.program.facts.symbols);
  const SizeClass sizes = keeps_rows ? class_of_residency(extent, writer.program.facts)
                                     : SizeClass{.low = planned, .high = planned};
  // No array of C++ is empty, so kept rows have space for an element.
  plan.tree = tree_of(std::max<std::int64_t>(sizes.high, keeps_rows ? 1 : 0));
  plan.is_empty = planned == 0;
  plan.vector_chunks = vector_chunks;
  plan.lanes = schedule.threads_per_row / schedule.groups;
  plan.parts_per_group =
      static_cast<int>(plan.tree.parts) / (schedule.groups * schedule.blocks_per_row());
  plan.accumulators_per_thread =
      static_cast<int>(plan.tree.accumulators) / (plan.lanes * vector_chunks);
  plan.is_fixed = extent.is_number();
  const std::int64_t stride = std::int64_t{plan.lanes} * vector_chunks;
  const Tree& tree = plan.tree;
  plan.tiles = divide_up(tree.chunks_per_part, stride);
  plan.whole_vectors = divisor_of(extent, writer.program.facts) % (kChunk * vector_chunks) == 0;
  if (schedule.is_for_cpu()) {  // vectors may cross the end of a part too
    plan.ends_parts =
        plan.tree.parts > 1 && !(extent.is_number() && tree.chunks_per_part % vector_chunks == 0);
    plan.whole_vectors =
        extent.is_number() && extent.number() % (kChunk * vector_chunks) == 0 && !plan.ends_parts;
  }
  if (plan.is_fixed) {
    // A rolled loop over tiles ends with a whole round over the accumulators.
    const bool whole_rounds = plan.tiles <= plan.accumulators_per_thread ||
                              plan.tiles % plan.accumulators_per_thread == 0;
    plan.whole_parts = plan.tiles * stride == tree.chunks_per_part && whole_rounds;
    // The last part is the shortest, so its whole tiles are whole in all parts.
    const std::int64_t last = tree.extent - (tree.parts - 1) * tree.chunks_per_part * kChunk;
    plan.whole_tiles = std::max<std::int64_t>(last, 0) / (stride * kChunk);
    plan.whole_extent = tree.parts * tree.chunks_per_part * kChunk == tree.extent;
  } else if (keeps_rows) {
    // The last part has at least this many chunks, since the others have at most
    // (chunks + parts - 1) / parts each.
    const std::int64_t others = tree.parts - 1;
    const std::int64_t last = (sizes.low / kChunk - others * others) / tree.parts;
    plan.whole_tiles = std::max<std::int64_t>(last, 0) / stride;
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

std::string rolled_row_reduction(KernelWriter& writer, const BodyReduction& reduction,
                                 std::string_view shape, std::int64_t parts, std::int64_t states,
                                 const std::string& name) {
  const std::string type = writer.state_type(*reduction.node);
  if (parts == 1) return fmt::format("RowReduction<{}, {}, 1> {};", type, shape, name);
  std::int64_t& shared = writer.source.shared_bytes;
  shared = round_up(shared, 16);
  std::string text = fmt::format("RolledRowReduction<{}, {}, {}> {}(shared_memory() + {});", type,
                                 shape, parts, name, shared);
  shared += round_up(states * state_bytes(*reduction.node), 16);
  return text;
}

std::vector<int> declare_row_reductions(KernelWriter& writer, const TreePlan& plan,
                                        bool is_unrolled, int pass) {
  if (is_unrolled || plan.parts_per_group == 1)
    return declare_reductions(writer, "RowReduction", plan.parts_per_group, pass);
  const Schedule& schedule = writer.schedule;
  const std::int64_t states =
      std::int64_t{plan.parts_per_group} * schedule.groups * schedule.rows_per_block;
  std::vector<int> result;
  for (std::size_t i = 0; i < writer.body.reductions.size(); ++i) {
    const BodyReduction& reduction = writer.body.reductions[i];
    if (reduction.stage != pass) continue;
    const std::string name = writer.name_for(reduction.node, "_tree");
    writer.out.line(
        rolled_row_reduction(writer, reduction, "Shape", plan.parts_per_group, states, name));
    writer.set_result(reduction, name);
    result.push_back(static_cast<int>(i));
  }
  return result;
}

const std::string& tree_name(const KernelWriter& writer, int index) {
  return writer.result_text(writer.body.reductions[static_cast<std::size_t>(index)]);
}

void declare_result(KernelWriter& writer, const BodyReduction& reduction,
                    const std::string& expression) {
  const std::string name = writer.name_for(reduction.node);
  writer.out.line(
      fmt::format("const {} {} = {};", compute_c_type(reduction.node->dtype), name, expression));
  writer.set_result(reduction, name);
}

std::vector<int> stores_of_pass(const Body& body, int pass) {
  std::vector<int> result;
  for (std::size_t i = 0; i < body.stores.size(); ++i)
    if (body.stores[i].varies && body.stores[i].stage == pass)
      result.push_back(static_cast<int>(i));
  return result;
}

bool has_late_loads(const Body& body) {
  return std::ranges::any_of(body.values, [&](const Value& value) {
    return value.kind == Value::Kind::load && value.stage >= body.passes();
  });
}

std::vector<int> kept_by_pass(const PassPlan& passes, int pass) {
  std::vector<int> result;
  for (const int value : passes.kept)
    if (passes.first_pass[static_cast<std::size_t>(value)] == pass) result.push_back(value);
  return result;
}

std::string chunks_text(const TreePlan& plan) {
  return plan.is_fixed ? std::to_string(plan.tree.chunks_per_part) : "chunks";
}

void declare_chunks(KernelWriter& writer, const TreePlan& plan) {
  if (plan.is_fixed) return;
  writer.declare_index("chunks",
                       writer.text(chunks_per_part(writer.body.reduced_size(), plan.tree.parts)));
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

namespace {

/// Writes the tiles of one part as loops that are not fully unrolled.
class RolledTiles {
 public:
  RolledTiles(KernelWriter& writer, const TreePlan& plan, TileWriters& tile_writers)
      : out_(writer.out),
        writer_(writer),
        plan_(plan),
        tile_writers_(tile_writers),
        round_(plan.accumulators_per_thread),
        batch_(tile_writers.ahead.empty() || !tile_writers.reads_once ? 1 : tile_writers.at_once) {}

  /// Unrolls only rounds over a thread's accumulators. Rounds that are whole in all threads come
  /// first. A condition in front of a tile would keep the compiler from loading it before it has
  /// finished the previous tile.
  void write() {
    if (!plan_.is_fixed) return write_symbolic();
    if (!tile_writers_.reads_once)
      return write_loop("0", std::to_string(plan_.tiles), round_, {.accumulator = "i"});
    const std::int64_t rounds = plan_.whole_tiles / round_;
    const std::int64_t step =
        round_ * std::clamp<std::int64_t>(batch_ / round_, 1, std::max<std::int64_t>(rounds, 1));
    const std::int64_t whole = rounds * round_ / step * step;
    const std::int64_t rest = plan_.tiles - whole;
    const bool is_short = rest <= 2 * step;
    if (whole > 0) {
      std::optional<TrafficSnapshot> same;
      if (rest > 0) same.emplace(writer_.source);
      write_loop("0", std::to_string(whole), step, {.accumulator = "i", .is_whole = true});
    }
    const std::string first = std::to_string(whole);
    if (rest > 0 && !is_short)
      write_loop(first, std::to_string(plan_.tiles), round_, {.accumulator = "i"});
    if (rest > 0 && is_short) write_tiles(first, rest, {.accumulator = "i", .is_unrolled = true});
  }

 private:
  /// If planned rows have whole rounds, these have no guard. A round is whole in all parts if it is
  /// whole in the last part, which is the shortest. Heavy states would spill in two loops.
  void write_symbolic() {
    const std::int64_t stride = std::int64_t{plan_.lanes} * plan_.vector_chunks;
    const std::string end = fmt::format("(chunks + {}) / {}", stride - 1, stride);
    const std::int64_t step = std::max(round_, batch_ / round_ * round_);
    if (!tile_writers_.reads_once || has_heavy_state(writer_.body) ||
        plan_.tree.chunks_per_part < 2 * stride * step)
      return write_loop("0", end, step, {.accumulator = "i"});
    std::string last = atomic(writer_.text(writer_.body.reduced_size()));
    if (plan_.tree.parts > 1)
      last = fmt::format("({} - {} * chunks)", last, (plan_.tree.parts - 1) * kChunk);
    const std::string whole = fmt::format("{} / {} * {}", last, stride * kChunk * step, step);
    {
      const TrafficSnapshot same(writer_.source);
      write_loop("0", whole, step, {.accumulator = "i", .is_whole = true});
    }
    write_loop(whole, end, round_, {.accumulator = "i"});
  }

  void write_loop(const std::string& first, const std::string& end, std::int64_t step,
                  const TileLoop& loop) {
    out_.directive("#pragma unroll 1");
    out_.block(fmt::format("for (int step = {}; step < {}; step += {})", first, end, step),
               [&] { write_tiles("step", step, loop); });
  }

  /// Writes unrolled text for `count` tiles from index `first` on.
  void write_tiles(const std::string& first, std::int64_t count, const TileLoop& loop) {
    if (batch_ == 1) return write_batch(first, "", count, loop);
    const std::int64_t batches = count / batch_;
    const std::int64_t rest = count % batch_;
    if (batches > 0) {
      std::optional<TrafficSnapshot> same;
      if (rest > 0) same.emplace(writer_.source);
      const std::string offset = batches == 1 ? "0" : fmt::format("wave * {}", batch_);
      const auto write = [&] { write_batch(first, offset, batch_, loop); };
      if (batches > 1)
        out_.unrolled("wave", std::to_string(batches), write);
      else if (rest > 0 || loop.is_unrolled)
        out_.block("", write);
      else
        write();  // the only statements in the loop body
    }
    if (rest > 0)
      out_.block("", [&] { write_batch(first, std::to_string(batches * batch_), rest, loop); });
  }

  /// Writes `count` tiles from index `first + offset` on, whose loads come before their work.
  void write_batch(const std::string& first, const std::string& offset, std::int64_t count,
                   const TileLoop& loop) {
    const std::string number = std::to_string(count);
    if (batch_ == 1) {
      out_.unrolled("i", number, [&] {
        out_.line(fmt::format("const int tile = {} + i;", first));
        tile_writers_.body(loop);
      });
      return;
    }
    const auto each = [&](const std::function<void()>& inside) {
      out_.unrolled("in_wave", number, [&] {
        out_.line(fmt::format("const int i = {}in_wave;", offset == "0" ? "" : offset + " + "));
        out_.line(fmt::format("const int tile = {} + i;", first));
        inside();
      });
    };
    tile_writers_.ahead.with_arrays(static_cast<int>(count), [&] {
      each([&] {
        tile_writers_.guarded(
            [&](const Tile& tile) { tile_writers_.ahead.write_loads("in_wave", tile); }, loop);
      });
      each([&] { tile_writers_.ahead.with_loads("in_wave", [&] { tile_writers_.body(loop); }); });
    });
  }

  SourceWriter& out_;
  KernelWriter& writer_;
  const TreePlan& plan_;
  TileWriters& tile_writers_;
  std::int64_t round_;  ///< tiles per round: one per accumulator of a thread
  std::int64_t batch_;  ///< tiles that are loaded before the first is computed; 1: none
};

}  // namespace

void write_tile_loops(KernelWriter& writer, const TreePlan& plan, bool unroll_tiles,
                      TileWriters tile_writers,
                      const std::function<void(const std::string&)>& finish_part) {
  SourceWriter& out = writer.out;
  const auto tiles = [&] {
    if (!unroll_tiles && (!plan.is_fixed || plan.tiles > plan.accumulators_per_thread))
      return RolledTiles(writer, plan, tile_writers).write();
    out.unrolled("tile", std::to_string(plan.tiles),
                 [&] { tile_writers.body({.accumulator = "tile", .is_unrolled = true}); });
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

void write_guarded_tile(KernelWriter& writer, const TreePlan& plan, const TileLoop& loop,
                        const std::string& is_whole,
                        const std::function<void(const Tile&)>& inside) {
  const std::string end = writer.text(writer.body.reduced_size());
  std::string condition;
  if (!plan.whole_parts && !loop.is_whole)
    condition = fmt::format("Shape::chunk(tile) < {}", chunks_text(plan));
  // In a single part, a chunk below the number of chunks begins within the row.
  const bool is_implied = plan.tree.parts == 1 && !condition.empty();
  if (!plan.whole_extent && !loop.is_whole && !is_implied)
    condition += fmt::format("{}column < {}", condition.empty() ? "" : " && ", end);
  if (!condition.empty() && !is_whole.empty())
    condition = is_whole + " || " +
                (condition.find("&&") == condition.npos ? condition : "(" + condition + ")");
  writer.out.block_if(condition, [&] {
    Tile tile{.count = {}, .accumulator = loop.accumulator, .index = "column + k"};
    if (!plan.whole_vectors && !loop.is_whole) {
      tile.count = "count";
      const std::string vector = writer.index_number(writer.schedule.vector);
      std::string count = fmt::format("minimum({}, {} - column)", vector, atomic(end));
      if (plan.ends_parts)
        count = fmt::format("minimum({}({} * ({} - Shape::chunk(tile))), {})", writer.index_type(),
                            kChunk, chunks_text(plan), count);
      writer.declare_index(
          "count", is_whole.empty() ? count : fmt::format("{} ? {} : {}", is_whole, vector, count));
    }
    inside(tile);
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

std::string declare_live(KernelWriter& writer, std::string_view name, const std::string& own,
                         const std::string& last, const std::string& condition) {
  const std::string wanted = writer.declare_index(fmt::format("wanted_{}", name), own);
  writer.out.line(fmt::format("const bool live = {}{} <= {};", condition, wanted, last));
  return writer.declare_index(name, fmt::format("live ? {} : {}", wanted, last));
}

void declare_row_shape(KernelWriter& writer, const TreePlan& plan, std::int64_t exchange_bytes) {
  const Schedule& schedule = writer.schedule;
  const bool has_cluster = schedule.blocks_per_row() > 1;
  writer.out.line(fmt::format("using Shape = RowShape<{}, {}, {}, {}{}>;", schedule.threads_per_row,
                              schedule.groups, plan.tree.accumulators, schedule.vector,
                              has_cluster ? fmt::format(", {}", schedule.cluster) : ""));
  writer.source.has_barrier = true;
  declare_exchange(writer, exchange_bytes);
}

void declare_exchange(KernelWriter& writer, std::int64_t per_use) {
  const std::int64_t half = round_up(per_use, 16);
  writer.source.shared_bytes = 2 * half;
  writer.out.line(fmt::format("Exchange exchange = {{shared_memory(), {}, 0}};", half));
}

void set_exchange_uses(KernelWriter& writer, std::int64_t per_use, std::int64_t uses) {
  // Each use has a barrier. So the first half is free when the code begins again, if its last use
  // is not the last of all.
  writer.source.may_follow_itself =
      writer.source.shared_bytes == 2 * round_up(per_use, 16) && uses % 2 == 0;
}

void declare_cluster_exchange(KernelWriter& writer, std::int64_t per_use) {
  const std::int64_t half = round_up(per_use, 16);
  writer.source.cluster = writer.schedule.cluster;
  writer.out.line(fmt::format("Exchange cluster = {{shared_memory() + {}, {}, 0}};",
                              writer.source.shared_bytes, half));
  // The arrival hands nothing over. Each exchange has its own barrier.
  writer.out.line("cluster_arrive_relaxed();  // this block has started");
  writer.source.shared_bytes += 2 * half;
}

void write_cluster_start_wait(KernelWriter& writer) {
  writer.out.line("cluster_wait();  // all blocks of the cluster have started");
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
