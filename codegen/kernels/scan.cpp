// Scans. A tile is a group of chunks of 4 elements. Each chunk is accumulated in order, and the
// chunk totals are scanned (Hillis and Steele). An element combines the totals before its tile and
// before its chunk with the elements of its chunk. Only the extent decides the number of chunks, so
// the schedule does not change the bits. A block processes the tiles of its rows in turn, or tiles
// are distributed over blocks.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/kernels/kernel_kinds.h"
#include "compiler/program/op_cost.h"
#include "compiler/program/reduction_tree.h"
#include "compiler/tiling/kernel_kind.h"

namespace sinter {

namespace {

class ScanWriter {
 public:
  explicit ScanWriter(KernelWriter& writer)
      : writer_(writer),
        body_(writer.body),
        scan_(*writer.body.scan),
        schedule_(writer.schedule),
        lanes_(schedule_.threads_per_row),
        rows_(schedule_.rows_per_block),
        is_across_(is_contiguous_across_rows(body_, writer.program.facts)),
        type_(writer.index_type()),
        extent_(writer.text(body_.reduced_size())) {}

  void write() {
    Source& source = writer_.source;
    writer_.vector_axis = body_.reduced_axis();
    groups_ = ceil_div(body_.parallel_size(), rows_);
    tiles_ = ceil_div(body_.reduced_size(), tile_elements());
    // Empty rows have no results, so they get no blocks.
    source.grid =
        groups_ * (schedule_.splits_rows ? tiles_ : one_unless_zero(body_.reduced_size()));
    source.shared_bytes = 2 * std::int64_t{states_per_tile()} * state_bytes(*scan_.node);
    source.has_barrier = true;
    declare_lane();
    declare_row();
    out().line(fmt::format("using State = {};", writer_.state_type(*scan_.node)));
    out().line(fmt::format("State* const states = reinterpret_cast<State*>(shared_memory()){};",
                           rows_ == 1 ? "" : " + " + first_state()));
    if (schedule_.splits_rows) {
      declare_states();
      write_tile();
      out().line(fmt::format("end_tiles(tickets, gridDim.x, {});", schedule_.threads));
      return;
    }
    out().line("State carry = State::identity();");
    out().block(fmt::format("for ({0} start = 0; start < {1}; start += {2})", type_,
                            atomic(extent_), tile_elements()),
                [&] { write_tile(); });
  }

 private:
  SourceWriter& out() { return writer_.out; }

  int each() const { return schedule_.unroll; }
  int chunks() const { return lanes_ * each(); }
  std::int64_t tile_elements() const { return kChunk * chunks(); }
  /// States of one tile of all rows of a block.
  int states_per_tile() const { return chunks() * rows_; }
  int stride() const { return is_across_ ? rows_ : 1; }
  std::string first_state() const {
    return is_across_ ? "row_of_block" : fmt::format("row_of_block * {}", chunks());
  }

  /// Adjacent threads have adjacent chunks, or adjacent rows if those are contiguous in memory.
  void declare_lane() {
    const std::string thread = "static_cast<int>(threadIdx.x)";
    if (rows_ == 1) {
      writer_.declare_index("lane", lanes_ == 1 ? "0" : thread);
      return;
    }
    const auto declare = [&](std::string_view name, std::string_view operation, int by) {
      out().line(fmt::format("const int {} = {} {} {};", name, thread, operation, by));
    };
    declare("lane", is_across_ ? "/" : "%", is_across_ ? rows_ : lanes_);
    declare("row_of_block", is_across_ ? "%" : "/", is_across_ ? rows_ : lanes_);
  }

  void declare_row() {
    std::string group = writer_.block();
    if (schedule_.splits_rows) {
      writer_.add_scratch_arguments();
      group = writer_.declare_index(
          "number", fmt::format("static_cast<{}>(take_number(tickets, shared_memory()))", type_));
      const std::string tiles = writer_.text(tiles_);
      const bool is_one = groups_.is(1);
      writer_.declare_index("tile", is_one ? group : fmt::format("{} % {}", group, tiles));
      group = is_one ? "0" : writer_.declare_index("group", fmt::format("{} / {}", group, tiles));
      writer_.declare_index("start", fmt::format("{} * tile", tile_elements()));
    }
    const std::string row = writer_.declare_index(
        "row", rows_ == 1 ? group : fmt::format("{} * {} + row_of_block", group, rows_));
    writer_.declare_axes(row, indices_below(body_.parallel_axes), "row");
    const Extent rows = body_.parallel_size();
    is_always_inside_ = rows.is_number() && rows.number() % rows_ == 0;
    if (!is_always_inside_)
      out().line(fmt::format("const bool inside = row < {};", atomic(writer_.text(rows))));
  }

  /// Declares the workspace through which tiles publish their totals and prefixes.
  void declare_states() {
    Source& source = writer_.source;
    const Extent states = groups_ * tiles_ * Extent(rows_);
    const Extent bytes = ceil_div(states * Extent(state_bytes(*scan_.node)), 16) * Extent(16);
    source.tickets = groups_ * tiles_ + Extent(2);
    source.workspace_bytes = bytes * Extent(2);
    out().line("State* const totals = reinterpret_cast<State*>(workspace);");
    out().line(fmt::format("State* const prefixes = reinterpret_cast<State*>(workspace + {});",
                           writer_.text(bytes)));
    out().line("const TileStates<State> handed_on = {totals, prefixes, tile_flags(tickets)};");
    // The first tile of a row publishes a prefix and no total.
    const Extent state = state_bytes(*scan_.node);
    const Extent row_states = groups_ * Extent(rows_);
    source.traffic.bytes_written =
        source.traffic.bytes_written + (states * Extent(2) - row_states) * state;
    // Other tiles read a tile's total, its prefix or, at different times, both.
    source.traffic.is_bound = true;
    source.traffic.bytes_read = source.traffic.bytes_read + states * Extent(2) * state;
  }

  /// Declares the position of a chunk of this thread, and the number of its elements that exist.
  void declare_chunk() {
    const std::string chunk = each() == 1 ? "lane" : fmt::format("({} * chunk + lane)", lanes_);
    writer_.axis_names[body_.reduced_axis()] =
        writer_.declare_index("column", fmt::format("start + {} * {}", kChunk, chunk));
    if (divisor_of(body_.reduced_size(), writer_.program.facts) % kChunk == 0) return;
    tile_.count = "count";
    writer_.declare_index("count", fmt::format("minimum({}, {} - column)",
                                               writer_.index_number(kChunk), atomic(extent_)));
  }

  /// Writes `body` for each chunk of this thread, guarded by the chunk's existence.
  void for_each_chunk(const std::function<void()>& body) {
    const auto write_existing = [&] {
      out().block(
          fmt::format("if ({}column < {})", is_always_inside_ ? "" : "inside && ", atomic(extent_)),
          body);
    };
    if (each() == 1) return write_existing();
    out().unrolled("chunk", std::to_string(each()), [&] {
      declare_chunk();
      write_existing();
    });
  }

  std::string of_chunk() const { return each() == 1 ? "" : "[chunk]"; }

  void write_tile() {
    out().line(
        fmt::format("State within{}[{}];", each() == 1 ? "" : fmt::format("[{}]", each()), kChunk));
    out().line(fmt::format("State total[{}];", each()));
    if (each() > 1) out().directive("#pragma unroll");
    out().line(
        each() == 1
            ? "total[0] = State::identity();"
            : fmt::format("for (int i = 0; i < {}; ++i) total[i] = State::identity();", each()));
    const std::string total = each() == 1 ? "total[0]" : "total[chunk]";
    if (each() == 1) declare_chunk();
    const std::vector<bool> scanned = writer_.needed_for({&scan_.operand, 1});
    const std::vector<int> kept = declare_kept(scanned);
    for_each_chunk([&] {
      Sinks sinks{.stores = {}, .kept = kept};
      sinks.after_each = [&] {
        out().line(fmt::format("{}{}.add({}, 0);",
                               tile_.count.empty() ? "" : fmt::format("if (k < {}) ", tile_.count),
                               total, writer_.operand_text(scan_.operand)));
        out().line(fmt::format("within{}[k] = {};", of_chunk(), total));
      };
      writer_.write_tile(scanned, sinks, tile_);
    });
    const Extent extent = body_.reduced_size();
    const bool is_one_tile = extent.is_number() && extent.number() <= tile_elements();
    if (!schedule_.splits_rows && lanes_ > 1 && !is_one_tile)
      out().line("if (start > 0) block_barrier();  // the previous tile has used the same memory");
    out().line(fmt::format("const State all = scan_lanes<{}, {}, {}>(total, states, {}, lane);",
                           lanes_, each(), stride(), states_per_tile()));
    if (schedule_.splits_rows)
      out().line(fmt::format(
          "const State carry = look_back<{}, {}, {}>(all, handed_on, tile, {}, {}, states, {}, "
          "lane);",
          lanes_, rows_, stride(), groups_.is(1) ? "0" : "number - tile",
          rows_ == 1 ? "0" : "row_of_block", states_per_tile()));
    for_each_chunk([&] { write_results(total); });
    if (!schedule_.splits_rows) out().line("carry = State::join(carry, all);");
  }

  /// The loads that both the scan's operand, with its values `scanned`, and the results need. A
  /// load that only gives the index of a kept one is not kept.
  std::vector<int> shared_loads(const std::vector<bool>& scanned) {
    std::vector<int> kept;
    writer_.set_text(scan_.result, "scanned");
    for (int i = static_cast<int>(body_.values.size()) - 1; i >= 0; --i) {
      const auto at = static_cast<std::size_t>(i);
      if (body_.values[at].kind != Value::Kind::load || !scanned[at]) continue;
      if (!writer_.needed_for(results())[at]) continue;
      kept.push_back(i);
      writer_.set_text(i, "kept");
    }
    for (const int value : kept) writer_.set_text(value, "");
    writer_.set_text(scan_.result, "");
    std::ranges::reverse(kept);
    return kept;
  }

  /// Declares a vector for each load that both halves of a tile need, so that each is made once.
  std::vector<int> declare_kept(const std::vector<bool>& scanned) {
    const std::vector<int> kept = shared_loads(scanned);
    for (const int value : kept) {
      const std::string name = writer_.name_for(body_.values[static_cast<std::size_t>(value)].node);
      out().line(fmt::format("{} {}{};", writer_.kept_type(value), name,
                             each() == 1 ? "" : fmt::format("[{}]", each())));
      writer_.set_kept(value, name + of_chunk());
    }
    return kept;
  }

  std::vector<int> results() const {
    std::vector<int> values;
    for (const BodyStore& store : body_.stores) values.push_back(store.value);
    return values;
  }

  void write_results(const std::string& before_chunk) {
    Sinks sinks{.stores = indices_below(static_cast<int>(body_.stores.size())), .kept = {}};
    out().line(fmt::format("const State before = State::join(carry, {});", before_chunk));
    const std::string result = writer_.name_for(scan_.node);
    writer_.set_text(scan_.result, result);
    sinks.before_each = [&] {
      out().line(fmt::format("const {} {} = State::join(before, within{}[k]).result();",
                             compute_c_type(scan_.node->dtype), result, of_chunk()));
    };
    writer_.write_tile(writer_.needed_for(results()), sinks, tile_);
  }

  KernelWriter& writer_;
  const Body& body_;
  const BodyReduction& scan_;
  const Schedule& schedule_;
  int lanes_;
  int rows_;
  bool is_across_;
  std::string_view type_;
  std::string extent_;
  Tile tile_;  ///< a chunk, as write_tile takes it
  Extent groups_ = 1;
  Extent tiles_ = 1;
  bool is_always_inside_ = false;
};

}  // namespace

void write_scan(KernelWriter& writer) { ScanWriter(writer).write(); }

}  // namespace sinter
