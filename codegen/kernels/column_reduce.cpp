// Column reductions: adjacent threads have adjacent columns, and several threads along the reduced
// axis share a column.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "codegen/kernels/column_combine.h"
#include "codegen/kernels/kernel_kinds.h"
#include "codegen/kernels/reduction_loops.h"
#include "codegen/kernels/shared_staging.h"
#include "codegen/statements/chunk_accesses.h"
#include "compiler/tiling/column_split.h"
#include "ir/support/round_up.h"

namespace sinter {

namespace {

class ColumnWriter {
 public:
  explicit ColumnWriter(KernelWriter& writer)
      : writer_(writer),
        body_(writer.body),
        schedule_(writer.schedule),
        plan_(plan_tree(writer, 1)),
        split_(split_of(plan_.tree, schedule_)),
        passes_(schedule_.resident ? plan_column_passes(body_) : plan_passes(body_)),
        staging_(writer) {
    plan_.parts_per_group = static_cast<int>(split_.parts) / schedule_.groups;
    plan_.accumulators_per_thread = static_cast<int>(split_.accumulators) / plan_.lanes;
    plan_.tiles = divide_up(split_.chunks_per_part, plan_.lanes);
  }

  void write() {
    writer_.vector_axis = body_.parallel_axes - 1;
    declare_shape();
    declare_columns();
    staging_.declare(passes_, kept_rows(split_) * columns_of(schedule_), "Shape::column()");
    const int passes = body_.passes();
    for (int pass = 0; pass < passes; ++pass) {
      writer_.write_row_values(pass);
      write_pass(pass);
    }
    writer_.write_row_values_from(passes);
    writer_.write_row_stores(first_of_columns(), {.has_met = schedule_.threads_per_row > 1});
    writer_.source.has_met = schedule_.threads_per_row > 1 && !has_late_loads(body_) &&
                             std::ranges::none_of(body_.stores, &BodyStore::varies);
    set_exchange_uses(writer_, exchange_bytes(), exchange_uses_);
  }

 private:
  /// The condition that selects the threads that store column results.
  std::string first_of_columns() const {
    const std::string first =
        schedule_.cluster > 1 ? "split == 0 && Shape::along() == 0" : "Shape::along() == 0";
    return live_.empty() ? first : live_ + " && " + first;
  }

  int columns() const { return schedule_.threads / schedule_.threads_per_row; }

  std::int64_t exchange_bytes() const {
    return exchange_slots(schedule_) * std::int64_t{widest_state(writer_)};
  }

  void declare_shape() {
    writer_.out.line(fmt::format("using Shape = ColumnShape<{}, {}, {}, {}, {}>;", columns(),
                                 plan_.lanes, schedule_.groups, split_.accumulators,
                                 schedule_.vector));
    writer_.source.has_barrier = true;
    declare_exchange(writer_, exchange_bytes());
    declare_chunks(writer_, plan_);
  }

  void declare_columns() {
    const Extent inner = body_.space.extent(body_.parallel_axes - 1);
    const std::int64_t per_block = std::int64_t{columns()} * schedule_.vector;
    const Extent across = writer_.blocks_over(inner, per_block);
    const std::vector<int> outer = indices_below(body_.parallel_axes - 1);
    Extent outer_size = 1;
    for (const int axis : outer) outer_size = outer_size * body_.space.extent(axis);
    writer_.source.grid = outer_size * across;

    std::string block = writer_.block();
    if (split_.splits > 1) {
      declare_column_split(writer_);
      block = "column_tile";
      declare_rows_of_split();
    }
    if (!outer.empty()) {
      const std::string blocks = atomic(writer_.text(across));
      writer_.declare_axes(writer_.declare_index("outer", fmt::format("{} / {}", block, blocks)),
                           outer, "outer");
      block = fmt::format("({} % {})", block, blocks);
    }
    std::string start = fmt::format("{} * {}", block, per_block);
    std::string last;  // the last vector of columns, if there may be threads past it
    if (schedule_.block_limit > 0) {
      writer_.declare_block_range(block, inner, per_block);
      start = "start";
      last = fmt::format("end - {}", schedule_.vector);
    } else if (schedule_.is_for_cpu()) {
      const std::string first = writer_.axis_names[body_.parallel_axes - 1] =
          writer_.declare_index("column", start);
      if (!inner.is_number() || inner.number() % per_block != 0)
        writer_.row_count = writer_.declare_index(
            "count", fmt::format("minimum({}, {} - {})", writer_.index_number(per_block),
                                 atomic(writer_.text(inner)), first));
      return;
    } else if (!inner.is_number() || inner.number() % per_block != 0) {
      last = writer_.text(inner - Extent(schedule_.vector));
    }
    const std::string own = fmt::format("{} + Shape::column() * {}", start, schedule_.vector);
    if (!last.empty()) live_ = "live";
    writer_.axis_names[body_.parallel_axes - 1] = last.empty()
                                                      ? writer_.declare_index("column", own)
                                                      : declare_live(writer_, "column", own, last);
  }

  /// Declares `residue` and `first_chunk`, which select the rows of a split: its part, and its
  /// residue among the accumulators of that part.
  void declare_rows_of_split() {
    if (split_.residues > 1)
      writer_.declare_index(
          "residue", plan_.tree.parts == 1 ? "split" : fmt::format("split / {}", plan_.tree.parts));
    if (split_.parts > 1 || plan_.tree.parts == 1) return;
    const std::string part =
        split_.residues > 1 ? fmt::format("split % {}", plan_.tree.parts) : "split";
    writer_.declare_index("first_chunk", fmt::format("{} * {}", part, chunks_text(plan_)));
  }

  void write_pass(int pass) {
    writer_.pass = pass;
    const Sinks sinks{
        .reductions = declare_reductions(
            writer_, schedule_.is_for_cpu() ? "LongColumnReduction" : "ColumnReduction",
            plan_.parts_per_group, pass),
        .stores = stores_of_pass(body_, pass),
        .kept = kept_by_pass(passes_, pass)};
    if (sinks.reductions.empty() && sinks.stores.empty()) return;
    writer_.store_condition = sinks.stores.empty() ? "" : live_;
    const auto finish = [&](std::string_view what, const std::string& arguments) {
      for (const int reduction : sinks.reductions)
        writer_.out.line(
            fmt::format("{}.finish_{}({});", tree_name(writer_, reduction), what, arguments));
    };
    const auto part = [&](const std::string& number) {
      write_accumulators([&](const std::string& ahead) { write_chunk(pass, sinks, ahead); },
                         [&](const std::string& own) { finish("accumulator", own); });
      finish("part", number + ", exchange");
    };
    if (plan_.parts_per_group == 1)
      part("0");
    else
      write_far_first("number", plan_.parts_per_group, 1, [&] {
        writer_.out.line(
            fmt::format("const int part = far_first<{}>(number);", plan_.parts_per_group));
        part("number");
      });
    writer_.store_condition.clear();
    if (schedule_.cluster > 1 && pass == 0) write_cluster_start_wait(writer_);
    finish_reductions(sinks.reductions, pass);
  }

  /// True if all threads of a column read the results of `pass`. Otherwise only the one that stores
  /// them does.
  bool all_threads_read(int pass) const {
    const auto is_later = [&](const auto& one) { return one.stage > pass; };
    return std::ranges::any_of(body_.reductions, is_later) ||
           std::ranges::any_of(
               body_.stores,
               [&](const BodyStore& store) { return store.varies && is_later(store); }) ||
           std::ranges::any_of(body_.values, [&](const Value& value) {
             return value.kind == Value::Kind::load && is_later(value);
           });
  }

  void write_far_first(std::string_view variable, int count, int at_once,
                       const std::function<void()>& body) {
    writer_.out.directive(fmt::format("#pragma unroll {}", at_once));
    writer_.out.block(fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", variable, count), body);
  }

  /// Processes a thread's accumulators in turn, each with all of its chunks. One accumulator is
  /// live, and the body is emitted once. If that loads too little at once, the loop is unrolled by
  /// a few accumulators. `chunk` gets the number of the tile that follows `tile`.
  void write_accumulators(const std::function<void(const std::string&)>& chunk,
                          const std::function<void(const std::string&)>& finish) {
    SourceWriter& out = writer_.out;
    const int own = plan_.accumulators_per_thread;
    const std::string tiles = plan_.is_fixed
                                  ? std::to_string(plan_.tiles)
                                  : fmt::format("(chunks + {}) / {}", stride() - 1, stride());
    const std::string next_first = own == 1 ? "0" : fmt::format("far_first<{}>(i + 1)", own);
    const auto next_tile = [&] {
      return fmt::format("tile + {0} < {1} ? tile + {0} : {2}", own, tiles, next_first);
    };
    const auto tiles_from = [&](const std::string& first) {
      out.directive(fmt::format("#pragma unroll {}", schedule_.unroll / accumulators_at_once()));
      if (own > 1 && plan_.is_fixed && (plan_.tiles % own == 0 || !is_whole())) {
        // Equally many chunks for each accumulator, so that an unrolled loop has no remainder loop.
        // Chunks past the end are skipped one by one.
        out.block(fmt::format("for (int turn = 0; turn < {}; ++turn)", divide_up(plan_.tiles, own)),
                  [&] {
                    out.line(fmt::format("const int tile = {} + {} * turn;", first, own));
                    chunk(next_tile());
                  });
        return;
      }
      out.block(fmt::format("for (int tile = {}; tile < {}; tile += {})", first, tiles, own),
                [&] { chunk(next_tile()); });
    };
    if (own == 1) {
      tiles_from("0");
      finish("0");
      return;
    }
    write_far_first("i", own, accumulators_at_once(), [&] {
      const std::string first = fmt::format("far_first<{}>(i)", own);
      if (plan_.is_fixed && plan_.tiles <= own) {
        out.line(fmt::format("const int tile = {};", first));
        out.block_if(plan_.tiles == own ? "" : fmt::format("tile < {}", tiles),
                     [&] { chunk(next_first); });
      } else {
        tiles_from(first);
      }
      finish("i");
    });
  }

  /// The accumulators whose chunks are loaded at once. More than 1 if a thread loads more chunks at
  /// once than one accumulator has.
  int accumulators_at_once() const {
    if (!plan_.is_fixed) return 1;
    const int own = plan_.accumulators_per_thread;
    const std::int64_t turns = bit_ceil(divide_up(plan_.tiles, own));
    return std::clamp(schedule_.unroll / static_cast<int>(turns), 1, own);
  }

  /// The distance between consecutive chunks of a thread within a part, in chunks.
  std::int64_t stride() const { return plan_.lanes * split_.residues; }

  /// True if the last chunk of every thread is within the part.
  bool is_whole() const {
    return plan_.is_fixed && plan_.tiles * stride() == plan_.tree.chunks_per_part;
  }

  /// The index of the first chunk of the current part, as an expression.
  std::string start_of_part() {
    if (split_.splits == 1)
      return part_start(writer_, plan_, plan_.parts_per_group == 1 ? "0" : "part");
    if (plan_.tree.parts == 1) return "0";
    if (split_.parts == 1) return "first_chunk";
    return fmt::format("({} * {} + split) * {}", part_of_split(), split_.splits,
                       chunks_text(plan_));
  }

  /// The index of the part within the split.
  std::string part_of_split() const {
    if (plan_.parts_per_group == 1) return "Shape::group()";
    return schedule_.groups == 1 ? "part"
                                 : fmt::format("(part * {} + Shape::group())", schedule_.groups);
  }

  /// The index of the global chunk `chunk` within the split.
  std::string chunk_of_split(const std::string& chunk) const {
    if (split_.splits == 1) return chunk;
    if (split_.parts == 1) return "Shape::chunk(tile)";
    return fmt::format("({} * {} + Shape::chunk(tile))", part_of_split(), split_.chunks_per_part);
  }

  /// The index of the vector of row `within` of `chunk` in the staging memory. Vectors of adjacent
  /// threads are adjacent, and each of the four rows of a chunk has its own region. A warp
  /// therefore accesses contiguous shared memory.
  std::string staged_place(const std::string& chunk) const {
    return fmt::format("(within * {} + {}) * {}", split_.parts * split_.chunks_per_part, chunk,
                       columns());
  }

  /// The index of the chunk of the thread's `tile` within the part, or among the rows.
  std::string chunk_in_part(std::string_view tile) const {
    return split_.residues == 1
               ? fmt::format("Shape::chunk({})", tile)
               : fmt::format("(residue + {} * Shape::chunk({}))", split_.residues, tile);
  }
  std::string chunk_of(std::string_view tile) {
    const std::string start = start_of_part();
    return start == "0" ? chunk_in_part(tile)
                        : fmt::format("({} + {})", start, chunk_in_part(tile));
  }

  /// The loads of `pass` that a CPU prefetches. It does not predict the order of the chunks.
  std::vector<int> prefetched_loads(int pass) {
    std::vector<int> loads;
    const std::vector<bool>& needed = passes_.needed[static_cast<std::size_t>(pass)];
    for (int value = 0; value < static_cast<int>(needed.size()); ++value)
      if (needed[static_cast<std::size_t>(value)] &&
          writer_.may_prefetch(value, writer_.vector_axis, body_.reduced_axis(), schedule_.vector))
        loads.push_back(value);
    return loads;
  }

  /// Prefetches row `within` of the chunk of `tile_ahead`.
  void write_prefetches(const std::vector<int>& loads) {
    if (loads.empty()) return;
    writer_.axis_names[body_.reduced_axis()] = writer_.declare_index(
        "along_ahead",
        fmt::format("{} * {} + within", writer_.elements_per_chunk(), chunk_of("tile_ahead")));
    for (const int load : loads) writer_.write_prefetch(load, schedule_.vector);
  }

  void write_chunk(int pass, const Sinks& sinks, const std::string& tile_ahead) {
    const std::string in_part = chunk_in_part("tile");
    const std::string chunk = chunk_of("tile");
    const std::string place = staged_place(chunk_of_split(chunk));
    std::string exists = is_whole() ? "" : fmt::format("{} < {}", in_part, chunks_text(plan_));
    // Threads of columns that do not exist must not read a column that its threads update.
    if (writer_.has_updates() && !live_.empty())
      exists = exists.empty() ? live_ : live_ + " && " + exists;
    const std::string first = fmt::format("{} * {}", writer_.elements_per_chunk(), chunk);
    const std::vector<int> prefetched = prefetched_loads(pass);
    if (!prefetched.empty())
      writer_.out.line(fmt::format("const int tile_ahead = {};", tile_ahead));
    writer_.out.block_if(exists, [&] {
      writer_.axis_names[body_.reduced_axis()] = "(" + first + ")";
      accesses_of(pass, sinks).write(live_, [&] {
        writer_.out.unrolled("within", std::to_string(kChunk), [&] {
          write_prefetches(prefetched);
          writer_.axis_names[body_.reduced_axis()] =
              writer_.declare_index("along", first + " + within");
          const std::string end = writer_.text(body_.reduced_size());
          writer_.out.block_if(plan_.whole_extent ? "" : "along < " + end, [&] {
            staging_.write_pass(passes_, pass, place, [&] {
              writer_.write_tile(passes_.needed[static_cast<std::size_t>(pass)], sinks,
                                 {.count = writer_.row_count, .accumulator = {}, .index = "along"});
            });
          });
        });
      });
    });
  }

  /// The loads and stores of `pass` that are made for a whole chunk at once.
  ChunkAccesses accesses_of(int pass, const Sinks& sinks) const {
    if (!plan_.whole_extent) return {writer_, {}, {}};
    const std::vector<bool>& needed = passes_.needed[static_cast<std::size_t>(pass)];
    std::vector<int> loads;
    for (std::size_t value = 0; value < needed.size(); ++value) {
      const bool is_staged = std::ranges::count(passes_.kept, static_cast<int>(value)) > 0 &&
                             passes_.first_pass[value] < pass;
      if (needed[value] && !is_staged) loads.push_back(static_cast<int>(value));
    }
    return {writer_, loads, sinks.stores};
  }

  void finish_reductions(const std::vector<int>& reductions, int pass) {
    const bool to_all = all_threads_read(pass);
    // All threads of a column send its state to the blocks of a cluster.
    const bool from_all = split_.splits == 1 ? to_all : schedule_.cluster > 1;
    const bool finish_uses = schedule_.groups > 1 || (from_all && plan_.lanes > 1);
    const bool is_split = split_.splits > 1 && schedule_.cluster == 1;
    exchange_uses_ += static_cast<std::int64_t>(reductions.size()) *
                      ((plan_.lanes > 1 ? plan_.parts_per_group : 0) + finish_uses + is_split);
    std::vector<const Node*> nodes;
    std::vector<std::string> states;
    for (const int index : reductions) {
      const std::string& tree = tree_name(writer_, index);
      nodes.push_back(body_.reductions[static_cast<std::size_t>(index)].node);
      states.push_back(tree + "_states");
      writer_.out.line(fmt::format("{} {}[{}];", writer_.state_type(*nodes.back()), states.back(),
                                   schedule_.vector));
      writer_.out.line(fmt::format("{}.finish{}({}, exchange);", tree, from_all ? "" : "<false>",
                                   states.back()));
      if (split_.splits == 1) declare_results(index, states.back());
    }
    if (split_.splits == 1) return;
    if (schedule_.cluster > 1)
      combine_columns_in_cluster(writer_, nodes, states, to_all);
    else
      combine_columns_in_last_block(writer_, nodes, states, to_all);
    for (std::size_t i = 0; i < reductions.size(); ++i) declare_results(reductions[i], states[i]);
  }

  /// Declares the vector of the results of a thread's columns.
  void declare_results(int index, const std::string& states) {
    const BodyReduction& reduction = body_.reductions[static_cast<std::size_t>(index)];
    const std::string name = writer_.name_for(reduction.node);
    writer_.out.line(fmt::format("Vector<{}, {}> {};", compute_c_type(reduction.node->dtype),
                                 schedule_.vector, name));
    writer_.out.directive("#pragma unroll");
    writer_.out.line(
        fmt::format("for (int k = 0; k < {}; ++k) {}[k] = {};", schedule_.vector, name,
                    plan_.is_empty ? empty_result(reduction) : states + "[k].result()"));
    writer_.set_result(reduction, schedule_.vector == 1 ? name + "[0]" : name + "[k]");
  }

  KernelWriter& writer_;
  const Body& body_;
  const Schedule& schedule_;
  TreePlan plan_;
  ColumnSplit split_;  ///< the rows of one block
  PassPlan passes_;
  SharedStaging staging_;
  std::string live_;
  std::int64_t exchange_uses_ = 0;
};

}  // namespace

void write_column_reduce(KernelWriter& writer) { ColumnWriter(writer).write(); }

}  // namespace sinter
