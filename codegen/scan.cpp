// Scans. A tile is one chunk of 4 elements for each thread of a row: a thread adds up its chunk,
// threads hand their totals on (Hillis and Steele), and each element is what came before its tile,
// before its chunk, and within it. Which thread does what is given by the extent, so the bits are
// too.
#include <fmt/format.h>

#include <numeric>

#include "codegen/shapes.h"
#include "compiler/cost.h"
#include "compiler/tree.h"

namespace sinter {

namespace {

class ScanWriter {
 public:
  explicit ScanWriter(KernelWriter& writer)
      : writer_(writer), body_(writer.body), scan_(*writer.body.scan), type_(writer.index_type()) {}

  void write() {
    const Schedule& schedule = writer_.schedule;
    Source& source = writer_.source;
    // Rows of nothing have no results.
    source.grid = ceil_div(body_.parallel_size() * one_unless_zero(body_.reduced_size()),
                           schedule.rows_per_block);
    source.shared_bytes = std::int64_t{schedule.threads} * state_bytes(*scan_.node);
    source.has_barrier = true;
    declare_row();
    const std::string state = writer_.state_type(*scan_.node);
    out().line(fmt::format("using State = {};", state));
    out().line("State* states = reinterpret_cast<State*>(shared_memory());");
    out().line("State carry = State::identity();");
    const std::string extent = writer_.text(body_.reduced_size());
    out().block(fmt::format("for ({0} start = 0; start < {1}; start += {2})", type_, extent,
                            kChunk * schedule.threads_per_row),
                [&] { write_tile(extent); });
  }

 private:
  SourceWriter& out() { return writer_.out; }

  void declare_row() {
    const Schedule& schedule = writer_.schedule;
    const int lanes = schedule.threads_per_row;
    writer_.declare_index("lane", fmt::format("static_cast<int>(threadIdx.x) % {}", lanes));
    const std::string block = writer_.block();
    std::vector<int> axes(static_cast<std::size_t>(body_.parallel_axes));
    std::iota(axes.begin(), axes.end(), 0);
    const std::string row = writer_.declare_index(
        "row", schedule.rows_per_block == 1
                   ? block
                   : fmt::format("{} * {} + static_cast<int>(threadIdx.x) / {}", block,
                                 schedule.rows_per_block, lanes));
    writer_.declare_axes(row, axes, "row");
    const Extent rows = body_.parallel_size();
    is_always_inside_ = rows.is_number() && rows.number() % schedule.rows_per_block == 0;
    if (!is_always_inside_)
      out().line(fmt::format("const bool inside = row < {};", writer_.text(rows)));
  }

  /// Calls `body` in a loop over the elements of the chunk that exist.
  void for_each_element(const std::string& extent, const std::function<void()>& body,
                        const std::string& after = "") {
    out().directive("#pragma unroll");
    out().block(fmt::format("for (int k = 0; k < {}; ++k)", kChunk), [&] {
      writer_.axis_names[body_.reduced_axis()] =
          writer_.declare_index("column", fmt::format("start + lane * {} + k", kChunk));
      const std::string inside = is_always_inside_ ? "" : "inside && ";
      out().block(fmt::format("if ({}column < {})", inside, extent), body);
      if (!after.empty()) out().line(after);
    });
  }

  void write_tile(const std::string& extent) {
    out().line(fmt::format("State within[{}];", kChunk));
    out().line("State total = State::identity();");
    for_each_element(
        extent,
        [&] {
          writer_.write_in_scope(scan_.operand, [&](const std::string& value) {
            out().line(fmt::format("total.add({}, 0);", value));
          });
        },
        "within[k] = total;");
    out().line(fmt::format("const Prefix<State> prefix = scan_lanes<{}>(total, states, lane);",
                           writer_.schedule.threads_per_row));
    out().line("const State before = State::join(carry, prefix.before);");
    for_each_element(extent, [&] { write_results(); });
    out().line("carry = State::join(carry, prefix.all);");
  }

  void write_results() {
    const std::string result = writer_.name_for(scan_.node);
    out().line(fmt::format("const {} {} = State::join(before, within[k]).result();",
                           compute_c_type(scan_.node->dtype), result));
    writer_.set_text(scan_.result, result);
    std::vector<int> roots;
    for (const BodyStore& store : body_.stores) roots.push_back(store.value);
    writer_.write_in_scope(roots, [&] {
      for (const BodyStore& store : body_.stores)
        writer_.write_element_store(store, writer_.operand_text(store.value));
    });
  }

  KernelWriter& writer_;
  const Body& body_;
  const BodyScan& scan_;
  std::string_view type_;
  bool is_always_inside_ = false;
};

}  // namespace

void write_scan(KernelWriter& writer) { ScanWriter(writer).write(); }

}  // namespace sinter
