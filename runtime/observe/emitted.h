// Plans and emits a graph for a target without a device, for dump and explain.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codegen/text/source.h"
#include "compiler/plan.h"

namespace sinter {

/// `options` for a run that makes its outputs itself: outputs that are views are not written.
PlanOptions without_views(const Graph& graph, PlanOptions options);

class EmittedProgram {
 public:
  /// A kernel with its default schedule, or the wanted candidate.
  struct Item {
    const Kernel* kernel;
    Source source;
    /// True for an opaque call, which has nothing to compile.
    bool is_call() const { return kernel->kind == KernelKind::opaque; }
  };

  /// With a `candidate` >= 0, every kernel has this candidate (the last, if fewer) instead of the
  /// default schedule.
  EmittedProgram(const Graph& graph, const Target& target, std::span<const std::int64_t> symbols,
                 const PlanOptions& options, int candidate = -1);
  EmittedProgram(const EmittedProgram&) = delete;
  EmittedProgram& operator=(const EmittedProgram&) = delete;

  const Program& program() const { return program_; }
  std::span<const Item> kernels() const { return kernels_; }

 private:
  Program program_;
  std::vector<Item> kernels_;  ///< in the order of the program
};

}  // namespace sinter
