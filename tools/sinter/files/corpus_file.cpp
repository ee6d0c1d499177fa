#include "tools/sinter/files/corpus_file.h"

#include "compiler/body/minimal_bytes.h"
#include "ir/graph/node.h"
#include "ir/oracle/random_inputs.h"
#include "ir/shape/extent.h"
#include "ir/support/elapsed.h"
#include "ir/verify/verify.h"
#include "runtime/compile/nvrtc_units.h"
#include "runtime/execution/variant_report.h"
#include "runtime/observe/emitted.h"
#include "sinter/error.h"
#include "tools/sinter/arguments/arguments.h"
#include "tools/sinter/commands/run_graph.h"
#include "tools/sinter/output/verdict.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <string_view>

#include <fmt/format.h>

namespace sinter::command {

namespace {

using Symbols = std::span<const std::int64_t>;

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

PlannedCost cost_of(const EmittedProgram& emitted, Symbols symbols) {
  const Program& program = emitted.program();
  PlannedCost cost{.kernels = static_cast<std::int64_t>(program.kernels.size()),
                   .minimal_bytes = minimal_bytes(program.graph->data(), symbols)};
  for (const EmittedProgram::Item& item : emitted.kernels()) {
    const KernelReport report =
        kernel_report(program, *item.kernel, item.kernel->schedule, item.source, symbols);
    cost.bytes += report.launches * (report.bytes_read + report.bytes_written);
  }
  return cost;
}

CompiledCost compile_kernels(const EmittedProgram& emitted, const Target& target) {
  if (const std::string reason = nvrtc_problem(); !reason.empty())
    throw DriverError(fmt::format("stage compile needs NVRTC: {}", reason));
  const auto start = std::chrono::steady_clock::now();
  CompiledCost cost;
  for (const EmittedProgram::Item& item : emitted.kernels()) {
    if (item.is_call()) continue;
    for (const CubinReport& cubin :
         compile_unit({&item.source, 1}, std::string(target.arch)).reports)
      cost.spill_bytes += cubin.spill_bytes;
    cost.codes.insert(item.source.code_key);
  }
  cost.milliseconds = milliseconds_since(start);
  return cost;
}

std::int64_t largest_value(const GraphData& graph, Symbols symbols) {
  std::int64_t largest = 0;
  for (const Node* node : graph.nodes)
    largest = std::max(largest, evaluate(product(node->shape), symbols));
  return largest;
}

/// Runs without fusion and checks the results with the oracle. Then runs with fusion, which must
/// give equal bits.
void run_on_host(const Graph& graph, Symbols symbols, const CorpusRequest& request,
                 FileReport& report) {
  const HostArrays inputs = random_inputs(graph, symbols, /*seed=*/0);
  RunRequest how{.device = host_device(),
                 .symbols = symbols,
                 .fuse = false,
                 .target = std::string(request.target->name)};
  const GraphRun unfused = run_graph(graph, inputs, how);
  Verdict verdict;
  check_with_oracle(graph, inputs, symbols, unfused, verdict);
  report.worst_error_over_bound = verdict.worst;
  if (verdict.passes() && !request.unfused_only) {
    how.fuse = true;
    compare_bits(run_graph(graph, inputs, how), unfused, verdict);
    report.is_equal_unfused = verdict.is_equal_unfused;
  }
  report.error = first_line(verdict.problem);
  if (verdict.passes()) report.stage = CorpusStage::run;
}

/// Runs the stages and throws their errors. `report` contains the results up to the error.
void run_stages(const std::string& path, const CorpusRequest& request, FileReport& report) {
  const Graph graph = read_graph(path);
  verify(graph);
  report.stage = CorpusStage::parse;
  if (request.last == CorpusStage::parse) return;

  const SymbolSizes sizes = choose_sizes(graph, {});
  const EmittedProgram emitted(graph, *request.target, sizes.values, plan_options());
  report.planned = cost_of(emitted, sizes.values);
  report.stage = CorpusStage::plan;
  if (request.last == CorpusStage::plan) return;

  if (request.last == CorpusStage::compile || request.nvrtc) {
    report.compiled = compile_kernels(emitted, *request.target);
    report.stage = CorpusStage::compile;
  }
  if (request.last == CorpusStage::compile) return;

  report.is_over_limit = largest_value(graph.data(), sizes.values) > request.limit_elements;
  if (!report.is_over_limit) run_on_host(graph, sizes.values, request, report);
}

}  // namespace

FileReport run_corpus_file(const CorpusFile& file, const CorpusRequest& request) noexcept {
  FileReport report{.name = file.name};
  try {
    run_stages(file.path, request, report);
  } catch (const std::bad_alloc&) {
    report.error = "there is not enough memory";
  } catch (const std::exception& error) {
    report.error = first_line(error.what());
    if (report.error.empty()) report.error = "it failed without an error message";
  } catch (...) {
    report.error = "it failed without an error message";
  }
  return report;
}

}  // namespace sinter::command
