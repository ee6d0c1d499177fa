// Reductions of rows and, over all rows, of their columns in one read.
#include <fmt/format.h>

#include "codegen/kernels/kernel_kinds.h"
#include "codegen/kernels/row_column_state_writer.h"
#include "codegen/kernels/row_passes.h"
#include "compiler/candidates/row_column_candidates.h"

namespace sinter {

namespace {

/// The tree over the rows is cut into splits. Split part + P * residue has those accumulators of a
/// part whose index is `residue` modulo the number of residues. The threads of a row process the
/// rows of one split and hold the states of all columns. In this numbering, splits combine far
/// first, as the tree requires.
class RowColumnWriter {
 public:
  explicit RowColumnWriter(KernelWriter& writer)
      : writer_(writer),
        body_(writer.body),
        schedule_(writer.schedule),
        out_(writer.out),
        passes_(writer),
        tree_(tree_of(evaluate(body_.parallel_size(), writer.program.facts.symbols))),
        columns_(writer, passes_, tree_),
        residues_(schedule_.splits / tree_.parts),
        levels_(pending_levels(tree_, schedule_.splits)) {}

  void write() {
    writer_.vector_axis = body_.reduced_axis();
    passes_.declare_shape(0);
    columns_.declare_split();
    if (!body_.parallel_size().is_number())
      writer_.declare_index(
          "row_chunks",
          writer_.text(ceil_div(ceil_div(body_.parallel_size(), kChunk), tree_.parts)));
    columns_.declare();
    if (can_load_whole_rows(body_)) passes_.write_common_loads();
    passes_.await_cluster();
    write_turns();
    columns_.write();
  }

 private:
  std::string row_chunks() const {
    return body_.parallel_size().is_number() ? std::to_string(tree_.chunks_per_part) : "row_chunks";
  }

  void write_turns() {
    const std::string part = fmt::format("split % {}", tree_.parts);
    const std::string residue = tree_.parts == 1 ? "split" : fmt::format("split / {}", tree_.parts);
    writer_.declare_index("first_chunk",
                          tree_.parts == 1 ? "0" : fmt::format("{} * {}", part, row_chunks()));
    if (levels_ == 0) {
      writer_.declare_index("accumulator", residue);
      write_accumulator();
      return;
    }
    out_.directive("#pragma unroll 1");
    out_.block(fmt::format("for (int turn = 0; turn < {}; ++turn)", 1 << levels_), [&] {
      writer_.declare_index(
          "accumulator", fmt::format("{} + {} * reversed<{}>(turn)", residue, residues_, levels_));
      write_accumulator();
      for (const std::string& name : columns_.names())
        out_.line(fmt::format("{}.finish(turn);", name));
    });
  }

  /// True if all parts are whole, so that every row of a part exists.
  bool has_whole_parts() const {
    return body_.parallel_size().is_number() &&
           tree_.parts * tree_.chunks_per_part * kChunk == tree_.extent;
  }
  /// True if all threads of a block process equally many rows: one row per block, or accumulators
  /// of equal length. Otherwise all of them continue to the end of the longest accumulator, because
  /// every thread must reach every barrier.
  bool agree_on_rows() const {
    return schedule_.rows_per_block == 1 ||
           (has_whole_parts() && tree_.chunks_per_part % tree_.accumulators == 0 &&
            residues_ <= tree_.accumulators);
  }

  void write_accumulator() {
    const bool agree = agree_on_rows();
    out_.directive("#pragma unroll 1");
    const std::string loop =
        agree ? fmt::format("for ({0} chunk = accumulator; chunk < {1}; chunk += {2})",
                            writer_.index_type(), row_chunks(), tree_.accumulators)
              : fmt::format("for ({0} step = 0; step < {1}; step += {2})", writer_.index_type(),
                            row_chunks(), tree_.accumulators);
    out_.block(loop, [&] {
      if (!agree) writer_.declare_index("chunk", "accumulator + step");
      writer_.declare_index(
          "first_row", fmt::format("{} * (first_chunk + chunk)", writer_.elements_per_chunk()));
      write_chunk();
    });
  }

  void write_chunk() {
    const int ahead = schedule_.unroll;
    if (ahead == kChunk) return write_rows("first_row + ahead");
    out_.directive("#pragma unroll 1");
    out_.block(fmt::format("for (int next = 0; next < {}; next += {})", kChunk, ahead),
               [&] { write_rows(ahead == 1 ? "first_row + next" : "first_row + next + ahead"); });
  }

  void write_rows(const std::string& row) {
    const int count = schedule_.unroll;
    if (!can_load_whole_rows(body_)) {
      in_row(row, [&] {
        passes_.declare_kept_values();
        passes_.write();
      });
    } else if (count == 1) {
      in_row(row, [&] {
        passes_.declare_rows(1);
        passes_.write_row_loads();
        passes_.write(true);
      });
    } else {
      // All loads of `count` rows are in flight before the first is used.
      passes_.declare_rows(count);
      const auto each = [&](const std::function<void()>& inside) {
        out_.unrolled("ahead", std::to_string(count), [&] { in_row(row, inside); });
      };
      each([&] { passes_.write_row_loads(); });
      each([&] { passes_.write(true); });
    }
  }

  /// Declares the axes of a row and writes `inside`, guarded by the row's existence.
  void in_row(const std::string& number, const std::function<void()>& inside) {
    const std::vector<int> axes = indices_below(body_.parallel_axes);
    const Extent rows = body_.parallel_size();
    if (!agree_on_rows()) {
      const std::string last = writer_.text(rows - Extent(1));
      passes_.live = "live";
      const std::string in_part = fmt::format("chunk < {} && ", row_chunks());
      writer_.declare_axes(declare_live(writer_, "row", number, last, in_part), axes, "row");
      inside();
      passes_.live.clear();  // the variable is in scope here only
      return;
    }
    writer_.declare_axes(writer_.declare_index("row", number), axes, "row");
    out_.block_if(has_whole_parts() ? "" : "row < " + writer_.text(rows), inside);
  }

  KernelWriter& writer_;
  const Body& body_;
  const Schedule& schedule_;
  SourceWriter& out_;
  RowPasses passes_;
  Tree tree_;  ///< over the rows
  RowColumnStateWriter columns_;
  std::int64_t residues_;  ///< splits per part
  int levels_;
};

}  // namespace

void write_row_column_reduce(KernelWriter& writer) { RowColumnWriter(writer).write(); }

}  // namespace sinter
