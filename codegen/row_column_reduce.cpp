#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "codegen/row_passes.h"
#include "codegen/shapes.h"
#include "compiler/cost.h"
#include "compiler/row_column.h"

namespace sinter {

namespace {

/// The tree over the rows is cut into pieces: number part + P * residue has those accumulators of a
/// part that leave the same rest. The threads of a row go through the rows of one piece, and so
/// hold the states of all columns. By these numbers pieces join far first, as the tree wants it.
class RowColumnWriter {
 public:
  explicit RowColumnWriter(KernelWriter& writer)
      : writer_(writer),
        body_(writer.body),
        schedule_(writer.schedule),
        out_(writer.out),
        passes_(writer),
        tree_(tree_of(evaluate(body_.parallel_size(), writer.program.facts.symbols))),
        residues_(schedule_.pieces / tree_.parts),
        levels_(waiting_levels(tree_, schedule_.pieces)),
        per_group_(pieces_per_group(schedule_)) {
    groups_ = schedule_.pieces / per_group_;
    int widest = 4;
    for (const BodyReduction& column : body_.columns)
      widest = std::max(widest, state_bytes(*column.node));
    while (neighbours_ * 2 * widest <= 16 && body_.reduced_size().number() % (neighbours_ * 2) == 0)
      neighbours_ *= 2;
  }

  void write() {
    writer_.vector_axis = body_.reduced_axis();
    passes_.declare_shape(0);
    declare_piece();
    declare_states();
    if (loads_ahead(body_)) passes_.write_common_loads();
    write_turns();
    write_states();
    write_end();
  }

 private:
  // --- pieces -----------------------------------------------------------------------------------

  void declare_piece() {
    writer_.source.grid = schedule_.pieces / schedule_.rows_per_block;
    const std::string block = writer_.block();
    const int per_block = schedule_.rows_per_block;
    std::string own = block;
    if (groups_ > 1) {
      writer_.declare_index("group", fmt::format("{} % {}", block, groups_));
      own = fmt::format("{} / {}", block, groups_);
    }
    if (per_block > 1)
      own = fmt::format("{} * {} + static_cast<int>(threadIdx.x) / Shape::kThreads",
                        groups_ > 1 ? "(" + own + ")" : own, per_block);
    if (groups_ > 1) own = fmt::format("group + {} * ({})", groups_, own);
    writer_.declare_index("piece", own);
    if (!body_.parallel_size().is_number())
      writer_.declare_index(
          "row_chunks",
          writer_.text(ceil_div(ceil_div(body_.parallel_size(), kChunk), tree_.parts)));
  }

  std::string row_chunks() const {
    return body_.parallel_size().is_number() ? std::to_string(tree_.chunks_per_part) : "row_chunks";
  }

  /// The states of columns that wait for their partner stand behind the exchange.
  void declare_states() {
    for (const BodyReduction& column : body_.columns) {
      const std::string name = writer_.name_for(column.node, "_tree");
      out_.line(fmt::format("ColumnStates<{}, {}, {}, {}> {}(shared_memory() + {});",
                            writer_.state_type(*column.node), passes_.held(), levels_,
                            schedule_.threads, name, writer_.source.shared_bytes));
      const std::int64_t bytes =
          std::int64_t{levels_} * passes_.held() * schedule_.threads * state_bytes(*column.node);
      writer_.source.shared_bytes += (bytes + 15) / 16 * 16;
      writer_.set_result(column, name);
      names_.push_back(name);
    }
  }

  // --- rows -------------------------------------------------------------------------------------

  void write_turns() {
    const std::string part = fmt::format("piece % {}", tree_.parts);
    const std::string residue = tree_.parts == 1 ? "piece" : fmt::format("piece / {}", tree_.parts);
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
      for (const std::string& name : names_) out_.line(fmt::format("{}.finish(turn);", name));
    });
  }

  /// With one row to a block all its threads agree on which rows there are; else they go on
  /// together to the longest accumulator's end, for the barriers' sake.
  void write_accumulator() {
    const bool is_alone = schedule_.rows_per_block == 1;
    out_.directive("#pragma unroll 1");
    const std::string loop =
        is_alone ? fmt::format("for ({0} chunk = accumulator; chunk < {1}; chunk += {2})",
                               writer_.index_type(), row_chunks(), tree_.accumulators)
                 : fmt::format("for ({0} step = 0; step < {1}; step += {2})", writer_.index_type(),
                               row_chunks(), tree_.accumulators);
    out_.block(loop, [&] {
      if (!is_alone) writer_.declare_index("chunk", "accumulator + step");
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
    if (!loads_ahead(body_)) {
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
      // All loads of some rows are under way before the first is used.
      passes_.declare_rows(count);
      const auto each = [&](const std::function<void()>& inside) {
        out_.unrolled("ahead", std::to_string(count), [&] { in_row(row, inside); });
      };
      each([&] { passes_.write_row_loads(); });
      each([&] { passes_.write(true); });
    }
  }

  /// Declares the axes of a row and writes what is done with it where it exists.
  void in_row(const std::string& number, const std::function<void()>& inside) {
    std::vector<int> axes(static_cast<std::size_t>(body_.parallel_axes));
    std::iota(axes.begin(), axes.end(), 0);
    const Extent rows = body_.parallel_size();
    const bool is_whole = rows.is_number() && schedule_.rows_per_block == 1 &&
                          tree_.parts * tree_.chunks_per_part * kChunk == tree_.extent;
    if (schedule_.rows_per_block > 1) {
      const std::string last = writer_.text(rows - Extent(1));
      writer_.declare_index("wanted_row", number);
      out_.line(
          fmt::format("const bool live = chunk < {} && wanted_row <= {};", row_chunks(), last));
      passes_.live = "live";
      writer_.declare_axes(
          writer_.declare_index("row", fmt::format("live ? wanted_row : {}", last)), axes, "row");
      return inside();
    }
    writer_.declare_axes(writer_.declare_index("row", number), axes, "row");
    if (is_whole) return inside();
    out_.block(fmt::format("if (row < {})", writer_.text(rows)), inside);
  }

  // --- the end ----------------------------------------------------------------------------------

  std::string states(std::size_t column) const { return names_[column] + "_pieces"; }
  /// Accesses to one state of each column.
  std::int64_t accesses() const { return body_.reduced_size().number() / neighbours_; }

  void write_states() {
    writer_.add_scratch_arguments();
    writer_.source.tickets = groups_ == 1 ? 1 : groups_ + 1;
    Traffic& traffic = writer_.source.traffic;
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < body_.columns.size(); ++i) {
      const Node& node = *body_.columns[i].node;
      out_.line(fmt::format("auto* {} = reinterpret_cast<Neighbours<{}, {}>*>(workspace{});",
                            states(i), writer_.state_type(node), neighbours_,
                            offset == 0 ? "" : fmt::format(" + {}", offset)));
      const std::int64_t row = body_.reduced_size().number() * state_bytes(node);
      const std::int64_t bytes = row * schedule_.pieces;
      offset += (bytes + 15) / 16 * 16;
      traffic.bytes_read = traffic.bytes_read + Extent(bytes);
      traffic.bytes_written =
          traffic.bytes_written + Extent(bytes + (groups_ == 1 ? 0 : row * groups_));
    }
    writer_.source.workspace_bytes = offset;
    passes_.for_each_vector([&](const Tile& tile) {
      out_.directive("#pragma unroll");
      out_.block(
          fmt::format("for (int k = 0; k < {}; k += {})", schedule_.vector, neighbours_), [&] {
            const auto store_all = [&] {
              for (std::size_t i = 0; i < names_.size(); ++i)
                out_.line(fmt::format(
                    "store_workspace({}, piece * {} + {}, {}.neighbours<{}>({}));", states(i),
                    accesses(),
                    neighbours_ == 1 ? "column + k" : fmt::format("(column + k) / {}", neighbours_),
                    names_[i], neighbours_, passes_.held_place()));
            };
            if (tile.count.empty())
              store_all();
            else
              out_.block(fmt::format("if (k < {})", tile.count), store_all);
          });
    });
  }

  void for_each_access(const std::function<void()>& inside) {
    out_.directive("#pragma unroll 1");
    out_.block(fmt::format("for (int at = static_cast<int>(threadIdx.x); at < {}; at += {})",
                           accesses(), schedule_.threads),
               inside);
  }

  /// The last block of a group joins its pieces, and the last one of these the groups.
  void write_end() {
    const int blocks = per_group_ / schedule_.rows_per_block;
    if (groups_ > 1) {
      out_.line(fmt::format("if (!last_block(tickets + group, {})) return;", blocks));
      for_each_access([&] {
        writer_.declare_index("place", fmt::format("group * {} + at", accesses()));
        for (std::size_t i = 0; i < names_.size(); ++i)
          out_.line(fmt::format("store_workspace({0}, place, join_column<{1}>({0} + place, {2}));",
                                states(i), per_group_, groups_ * accesses()));
      });
      out_.line(fmt::format("if (!last_block(tickets + {0}, {0})) return;", groups_));
    } else {
      out_.line(fmt::format("if (!last_block(tickets, {})) return;", blocks));
    }
    writer_.leave_rows();
    for_each_access([&] {
      for (std::size_t i = 0; i < names_.size(); ++i)
        out_.line(fmt::format("const auto {}_joined = join_column<{}>({} + at, {});", names_[i],
                              groups_ == 1 ? per_group_ : groups_, states(i), accesses()));
      out_.unrolled("k", std::to_string(neighbours_), [&] { write_column(); });
    });
  }

  void write_column() {
    writer_.axis_names[body_.reduced_axis()] = writer_.declare_index(
        "column", neighbours_ == 1 ? "at" : fmt::format("at * {} + k", neighbours_));
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const BodyReduction& column = body_.columns[i];
      const std::string name = writer_.name_for(column.node);
      out_.line(fmt::format("const {} {} = {}_joined.states[k].result();",
                            compute_c_type(column.node->dtype), name, names_[i]));
      writer_.set_result(column, name);
    }
    writer_.write_column_stores();
  }

  KernelWriter& writer_;
  const Body& body_;
  const Schedule& schedule_;
  SourceWriter& out_;
  RowPasses passes_;
  Tree tree_;              ///< over the rows
  std::int64_t residues_;  ///< pieces of one part
  int levels_;
  int per_group_;  ///< pieces that one block joins first
  int groups_ = 1;
  int neighbours_ = 1;              ///< columns whose states are moved at once
  std::vector<std::string> names_;  ///< of the columns' states
};

}  // namespace

void write_row_column_reduce(KernelWriter& writer) { RowColumnWriter(writer).write(); }

}  // namespace sinter
