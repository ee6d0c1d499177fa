#include "codegen/kernels/final_reduce.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/kernels/reduction_loops.h"
#include "compiler/program/reduction_tree.h"

namespace sinter {

namespace {

class FinalWriter {
 public:
  FinalWriter(KernelWriter& writer, const std::string& first_of_row)
      : writer_(writer),
        body_(writer.body),
        first_of_row_(first_of_row),
        tree_(tree_of(evaluate(body_.parallel_size(), writer.program.facts.symbols))) {
    const int threads = writer.schedule.threads;
    groups_ = static_cast<int>(std::min<std::int64_t>(tree_.parts, std::max(1, threads / 32)));
    // If there are fewer accumulators than threads, several sets of threads do the same work.
    threads_ = static_cast<int>(std::min<std::int64_t>(threads, tree_.accumulators * groups_));
  }

  void write() {
    writer_.source.tickets = 1;
    writer_.add_scratch_arguments();
    write_row_values();
    writer_.out.line(fmt::format("if (!last_block(tickets, {})) return;", writer_.blocks()));
    writer_.out.line(fmt::format("using Rows = RowShape<{}, {}, {}, {}>;", threads_, groups_,
                                 tree_.accumulators, kChunk));
    for (std::size_t i = 0; i < body_.finals.size(); ++i) reduce(body_.finals[i], names_[i]);
    writer_.write_row_values_from(0, true);
    writer_.write_row_stores("threadIdx.x == 0", {.is_final = true});
  }

 private:
  void write_row_values() {
    const Extent rows = body_.parallel_size();
    for (const BodyReduction& reduction : body_.finals) {
      const DType dtype = info(reduction.node->operand(0)->dtype).compute;
      names_.push_back(writer_.name_for(reduction.node, "_of_rows"));
      const std::string_view type = info(dtype).c_name;
      writer_.out.line(
          fmt::format("{}* {} = {};", type, names_.back(),
                      writer_.add_workspace_array(type, rows * Extent(size_of(dtype)))));
    }
    writer_.out.block(fmt::format("if ({})", first_of_row_), [&] {
      for (std::size_t i = 0; i < body_.finals.size(); ++i)
        writer_.out.line(fmt::format("store_workspace({}, row, {});", names_[i],
                                     writer_.operand_text(body_.finals[i].operand)));
    });
  }

  void reduce(const BodyReduction& reduction, const std::string& values) {
    SourceWriter& out = writer_.out;
    const std::int64_t parts = tree_.parts / groups_;
    const std::string tree = writer_.name_for(reduction.node, "_tree");
    const std::string rows = writer_.text(body_.parallel_size());
    const std::int64_t states =
        tree_.parts * divide_up<std::int64_t>(writer_.schedule.threads, threads_);
    out.line(rolled_row_reduction(writer_, reduction, "Rows", parts, states, tree));
    const std::string chunks =
        body_.parallel_size().is_number()
            ? std::to_string(tree_.chunks_per_part)
            : writer_.text(ceil_div(ceil_div(body_.parallel_size(), kChunk), tree_.parts));
    const std::int64_t lanes = threads_ / groups_;
    const std::int64_t per_thread = tree_.accumulators / lanes;
    out.directive("#pragma unroll 1");
    out.block(fmt::format("for (int part = 0; part < {}; ++part)", parts), [&] {
      out.directive("#pragma unroll 1");
      out.block(
          fmt::format("for (int step = 0; step * {} < {}; step += {})", lanes, chunks, per_thread),
          [&] {
            out.unrolled("i", std::to_string(per_thread), [&] {
              out.line("const int chunk = Rows::chunk(step + i);");
              out.line(
                  fmt::format("const {} at = 4 * ((part * {} + Rows::group()) * ({}) + chunk);",
                              writer_.index_type(), groups_, chunks));
              out.unrolled("k", "4", [&] {
                out.line(
                    fmt::format("if (chunk < {} && at + k < {}) {}.add(i, k, load_workspace({}, "
                                "at + k), at + k);",
                                chunks, rows, tree, values));
              });
            });
          });
      out.line(fmt::format("{}.finish_part(part, exchange);", tree));
    });
    declare_result(writer_, reduction, tree + ".finish(exchange).result()");
  }

  KernelWriter& writer_;
  const Body& body_;
  const std::string& first_of_row_;
  Tree tree_;
  int groups_ = 1;
  int threads_ = 1;
  std::vector<std::string> names_;
};

}  // namespace

void write_final_reductions(KernelWriter& writer, const std::string& first_of_row) {
  FinalWriter(writer, first_of_row).write();
}

std::int64_t final_exchange_bytes(const KernelWriter& writer) {
  if (writer.body.finals.empty()) return 0;
  return std::int64_t{writer.schedule.threads} * widest_state(writer);
}

}  // namespace sinter
