// Row reductions whose blocks compute several groups of rows in turn. While a block works on one
// group, copies bring the next ones to shared memory.
#include <fmt/format.h>

#include "codegen/kernels/kernel_kinds.h"
#include "codegen/kernels/row_passes.h"
#include "codegen/text/traffic_snapshot.h"
#include "compiler/tiling/copied_loads.h"
#include "ir/support/round_up.h"
#include "sinter/error.h"

namespace sinter {

namespace {

class CopiedRowsWriter {
 public:
  explicit CopiedRowsWriter(KernelWriter& writer)
      : writer_(writer),
        out_(writer.out),
        schedule_(writer.schedule),
        passes_(writer),
        is_bulk_(writer.schedule.copies == Copies::bulk),
        loads_(copied_loads(writer.body, writer.schedule, writer.program.facts)),
        is_early_(stages_in_flight(writer.body, loads_, schedule_) == schedule_.stages),
        rows_(writer.body.parallel_size()),
        extent_(writer.body.reduced_size().number()),
        per_group_(copied_elements(writer.body, writer.schedule)),
        may_end_(!rows_.is_number() || rows_.number() % schedule_.rows_per_block != 0),
        has_end_(may_end_ ||
                 rows_.number() % (std::int64_t{schedule_.rows_per_block} * schedule_.unroll) !=
                     0) {
    ensure(!loads_.empty() && schedule_.cluster == 1 && schedule_.block_limit == 0,
           "copied rows belong to one block");
  }

  void write() {
    writer_.vector_axis = writer_.body.reduced_axis();
    passes_.declare_shape(0);
    declare_block();
    declare_tiles();
    if (may_end_ && schedule_.rows_per_block > 1) passes_.live = "live";
    out_.unrolled("u", std::to_string(schedule_.stages), [&] { write_copies("u", false); });
    out_.directive("#pragma unroll 1");
    out_.block(fmt::format("for (int u = 0; u < {}; ++u)", turns()), [&] {
      writer_.declare_axes(declare_row("u"), indices_below(writer_.body.parallel_axes), "row");
      writer_.declare_index("slot", slot_text());
      out_.line(is_bulk_ ? "copies.await(u);" : "copies.await();");
      for (std::size_t i = 0; i < loads_.size(); ++i)
        writer_.read_ahead(loads_[i],
                           fmt::format("load<{}>({}, slot + column)", schedule_.vector, tiles_[i]));
      passes_.declare_kept_values();
      if (is_early_) {
        passes_.write_kept_loads();
        write_next_copies();
      }
      passes_.write(is_early_);
      if (!is_early_) write_next_copies();
    });
  }

 private:
  std::string turns() const { return has_end_ ? "turns" : std::to_string(schedule_.unroll); }

  /// `start`: the first row of the block. `turns`: the number of its groups.
  void declare_block() {
    const std::int64_t per_block = std::int64_t{schedule_.rows_per_block} * schedule_.unroll;
    writer_.source.grid = writer_.blocks_over(rows_, per_block);
    writer_.declare_index("start", fmt::format("{} * {}", writer_.block(), per_block));
    if (!has_end_) return;
    const std::string left = fmt::format("{} - start", atomic(writer_.text(rows_)));
    const int per_group = schedule_.rows_per_block;
    const std::string groups =
        per_group == 1 ? left : fmt::format("({} + {}) / {}", left, per_group - 1, per_group);
    writer_.declare_index(
        "turns", fmt::format("minimum({}, {})", writer_.index_number(schedule_.unroll), groups));
  }

  void declare_tiles() {
    std::int64_t& shared = writer_.source.shared_bytes;
    shared = round_up(shared, 16);
    for (const int load : loads_) {
      const Value& value = writer_.body.values[static_cast<std::size_t>(load)];
      tiles_.push_back(writer_.name_for(value.node, "_tile"));
      out_.line(fmt::format("{0}* const {1} = reinterpret_cast<{0}*>(shared_memory(){2});",
                            info(value.dtype).c_name, tiles_.back(),
                            shared == 0 ? "" : fmt::format(" + {}", shared)));
      shared += schedule_.stages * per_group_ * size_of(value.dtype);
    }
    if (is_bulk_) {
      out_.line(fmt::format("const BulkCopies<{}> copies(shared_memory() + {});", schedule_.stages,
                            shared));
      shared += copied_shared_bytes(0, schedule_);
    } else {
      out_.line(fmt::format("const ThreadCopies<{}> copies;", schedule_.stages));
    }
    writer_.source.copied_ahead = stages_in_flight(writer_.body, loads_, schedule_) *
                                  stage_bytes(writer_.body, loads_, schedule_);
  }

  std::string first_of_group(const std::string& number) const {
    return fmt::format("start + {} * {}", atomic(number), schedule_.rows_per_block);
  }

  /// The index among the rows of a group of the row that this thread copies. Threads past the last
  /// row have slots too.
  static std::string row_of_thread() { return "static_cast<int>(threadIdx.x) / Shape::kThreads"; }

  /// Declares `row`, the row of this thread in group `number`, and `live` if it may not exist.
  std::string declare_row(const std::string& number) {
    std::string own = first_of_group(number);
    if (schedule_.rows_per_block > 1) own += " + " + row_of_thread();
    if (passes_.live.empty()) return writer_.declare_index("row", own);
    return declare_live(writer_, "row", own, writer_.text(rows_ - Extent(1)));
  }

  /// The first element of this thread's row in a tile. One thread copies only rows that exist. With
  /// copies by all threads, each thread reads the vectors that it has copied.
  std::string slot_text() const {
    const std::string stage = fmt::format("u % {} * {}", schedule_.stages, per_group_);
    if (schedule_.rows_per_block == 1) return stage;
    const std::string row =
        is_bulk_ ? fmt::format("(row - ({}))", first_of_group("u")) : row_of_thread();
    return fmt::format("{} + {} * {}", stage, row, extent_);
  }

  /// Starts the copies of group `number`, if there is one, into the stage of group `u`. With
  /// `is_reused`, all threads have read the stage first.
  void write_copies(const std::string& number, bool is_reused) {
    const bool is_certain = !has_end_ && !is_reused;
    out_.block_if(is_certain ? "" : fmt::format("{} < {}", number, turns()), [&] {
      if (!is_bulk_) return write_thread_copies(number);
      if (is_reused) out_.line("copies.release();");
      out_.block("if (copies.issues())", [&] { write_bulk_copies(number); });
    });
    if (!is_bulk_) out_.line("copies.commit();");
  }

  void write_next_copies() {
    const TrafficSnapshot same(writer_.source);
    write_copies(fmt::format("u + {}", schedule_.stages), true);
  }

  void write_thread_copies(const std::string& number) {
    const std::string row = declare_row(number);
    writer_.declare_index("slot", slot_text());
    passes_.for_each_vector([&](const Tile&) {
      for (std::size_t i = 0; i < loads_.size(); ++i)
        out_.line(fmt::format(
            "copies.copy<{}>({} + slot + column, {});", schedule_.vector, tiles_[i],
            writer_.copied_from(loads_[i], fmt::format("{} * {} + column", row, extent_))));
    });
  }

  void write_bulk_copies(const std::string& number) {
    writer_.declare_index("row", first_of_group(number));
    std::string rows = std::to_string(schedule_.rows_per_block);
    if (may_end_ && schedule_.rows_per_block > 1) {
      rows = "rows_copied";
      out_.line(fmt::format("const int rows_copied = static_cast<int>(minimum({}, {} - row));",
                            writer_.index_number(schedule_.rows_per_block),
                            atomic(writer_.text(rows_))));
    }
    const std::int64_t row_bytes =
        stage_bytes(writer_.body, loads_, schedule_) / schedule_.rows_per_block;
    out_.line(fmt::format("copies.expect({}, {} * {});", number, rows, row_bytes));
    for (std::size_t i = 0; i < loads_.size(); ++i)
      out_.line(fmt::format("copies.copy({}, {} + u % {} * {}, {}, {} * {});", number, tiles_[i],
                            schedule_.stages, per_group_,
                            writer_.copied_from(loads_[i], fmt::format("row * {}", extent_)), rows,
                            extent_));
  }

  KernelWriter& writer_;
  SourceWriter& out_;
  const Schedule& schedule_;
  RowPasses passes_;
  bool is_bulk_;
  std::vector<int> loads_;
  std::vector<std::string> tiles_;  ///< [load]: the array of its stages
  bool is_early_;                   ///< the next copies start before the block computes
  Extent rows_;
  std::int64_t extent_;     ///< elements of a row
  std::int64_t per_group_;  ///< elements of the rows that the block computes at once
  bool may_end_;            ///< the last group may have fewer rows than the others
  bool has_end_;            ///< the last block may have fewer groups than the others
};

}  // namespace

void write_copied_rows(KernelWriter& writer) { CopiedRowsWriter(writer).write(); }

}  // namespace sinter
