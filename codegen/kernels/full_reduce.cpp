// Full reductions: the parts of a row are distributed over blocks. The last block combines them.
#include <fmt/format.h>

#include "codegen/kernels/kernel_kinds.h"
#include "codegen/kernels/reduction_loops.h"
#include "codegen/statements/loads_once.h"
#include "compiler/program/op_cost.h"

namespace sinter {

namespace {

class FullWriter {
 public:
  explicit FullWriter(KernelWriter& writer)
      : writer_(writer),
        body_(writer.body),
        schedule_(writer.schedule),
        plan_(plan_tree(writer, writer.schedule.vector / static_cast<int>(kChunk))) {
    // Each block computes one part.
    plan_.parts_per_group = 1;
  }

  void write() {
    writer_.vector_axis = body_.reduced_axis();
    declare_row_shape(
        writer_, plan_,
        std::int64_t{schedule_.threads} * plan_.vector_chunks * widest_state(writer_));
    declare_chunks(writer_, plan_);
    declare_row();
    writer_.write_row_values(0);
    write_part();
    writer_.write_row_values_from(1);
    writer_.write_row_stores("Shape::thread() == 0", {.has_met = true});
    // join_parts ends with a barrier.
    writer_.source.ends_met = is_stored_by_thread_0() && !has_late_loads(body_);
  }

 private:
  bool is_stored_by_thread_0() const { return schedule_.threads_per_row == schedule_.threads; }
  std::string parts() const { return std::to_string(plan_.tree.parts); }

  void declare_row() {
    const Extent rows = body_.parallel_size();
    writer_.source.grid = rows * Extent(plan_.tree.parts);
    writer_.source.tickets = rows;
    const std::string block = writer_.block();
    writer_.declare_index("part", rows.is(1) ? block : fmt::format("{} % {}", block, parts()));
    const std::vector<int> axes = indices_below(body_.parallel_axes);
    has_rows_ = !rows.is(1);
    if (has_rows_)
      writer_.declare_axes(writer_.declare_index("row", fmt::format("{} / {}", block, parts())),
                           axes, "row");
    else
      for (const int axis : axes) writer_.axis_names[axis] = "0";
    writer_.add_scratch_arguments();
  }

  void write_part() {
    const std::vector<std::vector<bool>> needed = plan_passes(body_).needed;
    const Sinks sinks{.reductions = declare_reductions(writer_, "RowReduction", 1, 0),
                      .stores = stores_of_pass(body_, 0),
                      .kept = {}};
    const int along[] = {body_.reduced_axis()};
    const auto write_tile = [&](const TileLoop& loop) {
      writer_.axis_names[body_.reduced_axis()] = writer_.declare_index(
          "column",
          fmt::format("{} * (part * {} + Shape::chunk(tile))", kChunk, chunks_text(plan_)));
      write_guarded_tile(writer_, plan_, loop, "",
                         [&](const Tile& tile) { writer_.write_tile(needed[0], sinks, tile); });
    };
    write_tile_loops(writer_, plan_, false,
                     {.body = write_tile, .reads_once = reads_once(body_, needed[0], along)},
                     [&](const std::string& part) {
                       for (const int index : sinks.reductions)
                         writer_.out.line(fmt::format("{}.finish_part({}, exchange);",
                                                      tree_name(writer_, index), part));
                     });
    write_states(sinks.reductions);
    finish_reductions(sinks.reductions);
  }

  void write_states(const std::vector<int>& reductions) {
    const Extent count = body_.parallel_size() * Extent(plan_.tree.parts);
    for (const int index : reductions) {
      const BodyReduction& reduction = body_.reductions[static_cast<std::size_t>(index)];
      const std::string& tree = tree_name(writer_, index);
      const std::string states = tree + "_parts";
      const std::string type = writer_.state_type(*reduction.node);
      writer_.out.line(fmt::format(
          "{}* {} = {};", type, states,
          writer_.add_workspace_array(type, count * Extent(state_bytes(*reduction.node)))));
      writer_.out.line(fmt::format("const {0} {1}_part = {1}.finish(exchange);", type, tree));
      writer_.out.line(
          fmt::format("if (Shape::thread() == 0) store_workspace({}, {}, {}_part);", states,
                      has_rows_ ? fmt::format("row * {} + part", plan_.tree.parts) : "part", tree));
    }
  }

  void finish_reductions(const std::vector<int>& reductions) {
    writer_.out.line(fmt::format("if (!last_block{}(tickets{}, {})) return;",
                                 is_stored_by_thread_0() ? "<true>" : "", has_rows_ ? " + row" : "",
                                 parts()));
    for (const int index : reductions) {
      const BodyReduction& reduction = body_.reductions[static_cast<std::size_t>(index)];
      const std::string states = tree_name(writer_, index) + "_parts" +
                                 (has_rows_ ? fmt::format(" + row * {}", parts()) : "");
      declare_result(writer_, reduction,
                     fmt::format("join_parts<{}>({}, {}, exchange).result()", schedule_.threads,
                                 states, parts()));
    }
  }

  KernelWriter& writer_;
  const Body& body_;
  const Schedule& schedule_;
  TreePlan plan_;
  bool has_rows_ = false;
};

}  // namespace

void write_full_reduce(KernelWriter& writer) { FullWriter(writer).write(); }

}  // namespace sinter
