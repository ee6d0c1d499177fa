#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "codegen/final_reduce.h"
#include "codegen/reduction_loops.h"
#include "codegen/shapes.h"

namespace sinter {

namespace {

class RowWriter {
 public:
  explicit RowWriter(KernelWriter& writer)
      : writer_(writer),
        body_(writer.body),
        schedule_(writer.schedule),
        plan_(plan_tree(writer, writer.schedule.vector / static_cast<int>(kChunk))) {}

  void write() {
    writer_.vector_axis = body_.reduced_axis();
    declare_shape();
    declare_row();
    declare_kept_values();
    const int passes = body_.passes();
    for (int pass = 0; pass < passes; ++pass) {
      writer_.write_row_values(pass);
      write_pass(pass);
    }
    int last = passes;
    for (const Value& value : body_.values) last = std::max(last, value.stage);
    for (int stage = passes; stage <= last; ++stage) writer_.write_row_values(stage);
    writer_.write_row_stores(first_of_row());
    if (!body_.finals.empty()) write_final_reductions(writer_, first_of_row());
  }

 private:
  /// Which thread stores what is one per row.
  std::string first_of_row() const {
    return live_.empty() ? "Shape::thread() == 0" : live_ + " && Shape::thread() == 0";
  }

  void declare_shape() {
    writer_.out.line(fmt::format("using Shape = RowShape<{}, {}, {}, {}>;",
                                 schedule_.threads_per_row, schedule_.groups,
                                 plan_.tree.accumulators, schedule_.vector));
    writer_.source.has_barrier = true;
    const bool across = plan_.lanes > 32 || schedule_.groups > 1;
    const std::int64_t bytes =
        across ? std::int64_t{schedule_.threads} * plan_.vector_chunks * widest_state(writer_) : 0;
    declare_exchange(writer_, std::max(bytes, final_exchange_bytes(writer_)));
    if (!plan_.is_fixed) {
      const Extent chunks = ceil_div(ceil_div(body_.reduced_size(), kChunk), plan_.tree.parts);
      writer_.declare_index("chunks", writer_.text(chunks));
    }
  }

  void declare_row() {
    const Extent rows = body_.parallel_size();
    const int per_block = schedule_.rows_per_block;
    writer_.source.grid = ceil_div(rows, per_block);
    std::vector<int> axes(static_cast<std::size_t>(body_.parallel_axes));
    std::iota(axes.begin(), axes.end(), 0);
    const std::string block = writer_.block();
    const std::string own =
        per_block == 1 ? block
                       : fmt::format("{} * {} + static_cast<int>(threadIdx.x) / Shape::kThreads",
                                     block, per_block);
    const bool may_be_outside = !rows.is_number() || rows.number() % per_block != 0;
    if (per_block == 1 || !may_be_outside) {
      if (!axes.empty()) writer_.declare_axes(writer_.declare_index("row", own), axes, "row");
      return;
    }
    // Threads past the last row do its work along, for the barriers' sake, and store nothing.
    writer_.declare_index("wanted_row", own);
    live_ = "live";
    const std::string last = writer_.text(rows - Extent(1));
    writer_.out.line(fmt::format("const bool live = wanted_row <= {};", last));
    writer_.declare_axes(writer_.declare_index("row", fmt::format("live ? wanted_row : {}", last)),
                         axes, "row");
  }

  void declare_kept_values() {
    passes_ = plan_passes(body_);
    if (!schedule_.resident) return;
    passes_ = plan_resident_passes(body_);
    if (schedule_.in_shared) return declare_shared_values();
    for (const int value : passes_.kept)
      writer_.declare_kept(value, plan_.parts_per_group, static_cast<int>(plan_.tiles));
  }

  /// Each thread has its own vectors in shared memory, side by side with those of the others.
  void declare_shared_values() {
    const KeptSlots slots = kept_slots(body_, passes_);
    const std::int64_t vectors =
        std::int64_t{plan_.parts_per_group} * plan_.tiles * schedule_.threads;
    std::vector<std::int64_t> starts;
    for (const int bytes : slots.bytes) {
      starts.push_back(writer_.source.shared_bytes);
      writer_.source.shared_bytes += vectors * schedule_.vector * bytes;
    }
    for (std::size_t i = 0; i < passes_.kept.size(); ++i) {
      const int value = passes_.kept[i];
      const Node* node = body_.values[static_cast<std::size_t>(value)].node;
      names_.push_back(writer_.name_for(node));
      memory_.push_back(writer_.name_for(node, "_kept"));
      writer_.out.line(fmt::format(
          "{0}* const {1} = reinterpret_cast<{0}*>(shared_memory() + {2}) + threadIdx.x;",
          writer_.kept_type(value), memory_.back(),
          starts[static_cast<std::size_t>(slots.slot_of[i])]));
    }
  }

  /// Where the vector of a tile lies in `memory_`.
  std::string shared_place(std::size_t kept) const {
    const std::string tile =
        plan_.parts_per_group == 1 ? "tile" : fmt::format("(part * {} + tile)", plan_.tiles);
    return fmt::format("{}[{} * {}]", memory_[kept], tile, schedule_.threads);
  }

  /// A tile of a row in shared memory: what earlier passes left there, the work, what it leaves.
  void write_shared_tile(int pass, const Sinks& sinks, const Tile& tile) {
    const std::vector<bool>& needed = passes_.needed[static_cast<std::size_t>(pass)];
    for (std::size_t i = 0; i < passes_.kept.size(); ++i) {
      const auto value = static_cast<std::size_t>(passes_.kept[i]);
      if (!needed[value]) continue;
      const bool is_new = passes_.first_pass[value] == pass;
      writer_.out.line(fmt::format("{}{} {}{};", is_new ? "" : "const ",
                                   writer_.kept_type(passes_.kept[i]), names_[i],
                                   is_new ? "" : " = " + shared_place(i)));
      writer_.set_kept(passes_.kept[i], names_[i]);
    }
    write_guarded(needed, sinks, tile);
    for (std::size_t i = 0; i < passes_.kept.size(); ++i)
      if (passes_.first_pass[static_cast<std::size_t>(passes_.kept[i])] == pass)
        writer_.out.line(fmt::format("{} = {};", shared_place(i), names_[i]));
  }

  /// Declares `column`, the place of the tile, and guards `inside` by what of it exists.
  void in_tile(const std::function<void(const Tile&)>& inside, const std::string& accumulator) {
    const std::string part = plan_.parts_per_group == 1 ? "0" : "part";
    const std::string start = part_start(writer_, plan_, part);
    const std::string chunk = start == "0" ? "Shape::chunk(tile)" : start + " + Shape::chunk(tile)";
    writer_.axis_names[body_.reduced_axis()] =
        writer_.declare_index("column", fmt::format("{} * {}", writer_.elements_per_chunk(),
                                                    start == "0" ? chunk : "(" + chunk + ")"));
    std::string condition;
    if (!plan_.whole_parts) condition = fmt::format("Shape::chunk(tile) < {}", chunks_text(plan_));
    if (!plan_.whole_extent)
      condition += fmt::format("{}column < {}", condition.empty() ? "" : " && ",
                               writer_.text(body_.reduced_size()));
    const auto body = [&] {
      Tile tile{.count = {}, .accumulator = accumulator, .index = "column + k"};
      if (!plan_.whole_vectors) {
        tile.count = "count";
        writer_.declare_index(
            "count", fmt::format("minimum({}({}), {} - column)", writer_.index_type(),
                                 schedule_.vector, atomic(writer_.text(body_.reduced_size()))));
      }
      inside(tile);
    };
    if (condition.empty())
      body();
    else
      writer_.out.block(fmt::format("if ({})", condition), body);
  }

  void write_pass(int pass) {
    Sinks sinks{
        .reductions = declare_reductions(writer_, "RowReduction", plan_.parts_per_group, pass),
        .stores = stores_of_pass(body_, pass),
        .kept = {}};
    for (const int value : passes_.kept)
      if (passes_.first_pass[static_cast<std::size_t>(value)] == pass) sinks.kept.push_back(value);
    if (sinks.reductions.empty() && sinks.stores.empty()) return;
    const bool unroll = schedule_.resident && !schedule_.in_shared;
    const bool loads_first =
        unroll && std::ranges::any_of(sinks.kept, [&](int value) {
          return body_.values[static_cast<std::size_t>(value)].kind == Value::Kind::load;
        });
    if (loads_first) {
      // All loads of the row are under way before the first is used.
      write_tile_loops(
          writer_, plan_, true,
          [&](const std::string& accumulator) {
            in_tile([&](const Tile& tile) { writer_.write_kept_loads(sinks.kept, tile); },
                    accumulator);
          },
          [](const std::string&) {});
    }
    const auto finish_part = [&](const std::string& part) {
      for (const int reduction : sinks.reductions)
        writer_.out.line(fmt::format("{}.finish_part({}, exchange);", tree_name(reduction), part));
    };
    write_tile_loops(
        writer_, plan_, unroll,
        [&](const std::string& accumulator) {
          in_tile(
              [&](Tile tile) {
                if (schedule_.in_shared) return write_shared_tile(pass, sinks, tile);
                tile.loads_done = loads_first;
                write_guarded(passes_.needed[static_cast<std::size_t>(pass)], sinks, tile);
              },
              accumulator);
        },
        finish_part);
    for (const int index : sinks.reductions) finish_reduction(index);
  }

  /// Stores of rows that do not exist are left out; everything else is harmless.
  void write_guarded(const std::vector<bool>& values, const Sinks& sinks, const Tile& tile) {
    if (live_.empty() || sinks.stores.empty()) {
      writer_.write_tile(values, sinks, tile);
      return;
    }
    if (sinks.reductions.empty()) {
      writer_.out.block("if (live)", [&] { writer_.write_tile(values, sinks, tile); });
      return;
    }
    writer_.store_condition = live_;
    writer_.write_tile(values, sinks, tile);
    writer_.store_condition.clear();
  }

  std::string tree_name(int index) const {
    return writer_.result_text(body_.reductions[static_cast<std::size_t>(index)]);
  }

  void finish_reduction(int index) {
    const BodyReduction& reduction = body_.reductions[static_cast<std::size_t>(index)];
    const std::string name = writer_.name_for(reduction.node);
    const std::string result = plan_.tree.extent == 0
                                   ? empty_result(reduction)
                                   : fmt::format("{}.finish(exchange).result()", tree_name(index));
    const std::string_view type = compute_c_type(reduction.node->dtype);
    writer_.out.line(fmt::format("const {} {} = {};", type, name, result));
    writer_.set_result(reduction, name);
  }

  KernelWriter& writer_;
  const Body& body_;
  const Schedule& schedule_;
  TreePlan plan_;
  std::string live_;  ///< the variable that says whether this thread's row exists; empty: it does
  PassPlan passes_;
  std::vector<std::string>
      names_;  ///< of kept values within a tile, where shared memory keeps them
  std::vector<std::string> memory_;  ///< of the pointers to their vectors there
};

}  // namespace

void write_row_reduce(KernelWriter& writer) { RowWriter(writer).write(); }

}  // namespace sinter
