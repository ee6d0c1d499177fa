#include "runtime/observe/emitted.h"

#include <algorithm>

#include "ir/graph/output_view.h"
#include "runtime/execution/make_variant.h"

namespace sinter {

PlanOptions without_views(const Graph& graph, PlanOptions options) {
  options.unwritten_outputs.clear();
  for (const std::optional<OutputView>& view : output_views(graph.data()))
    options.unwritten_outputs.push_back(view.has_value());
  return options;
}

EmittedProgram::EmittedProgram(const Graph& graph, const Target& target,
                               std::span<const std::int64_t> symbols, const PlanOptions& options,
                               int candidate)
    : program_(plan(graph, target, {.symbols = {symbols.begin(), symbols.end()}},
                    without_views(graph, options))) {
  for (Kernel& kernel : program_.kernels) {
    // Counted as tuning counts: candidates with equal code are one.
    EmittedKernel emitted =
        emit_candidates(program_, kernel, static_cast<std::size_t>(std::max(candidate, 0)) + 1);
    if (candidate >= 0 && !emitted.is_call) kernel.schedule = emitted.schedules.back();
    kernels_.push_back({.kernel = &kernel, .source = std::move(emitted.sources.back())});
  }
}

}  // namespace sinter
