// A graph planned and emitted for a target, with no device in sight: what dump and explain show.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codegen/text/source.h"
#include "compiler/plan.h"

namespace sinter {

/// Outputs that are views come back as views, as they do where a run makes its outputs itself.
PlanOptions without_views(const Graph& graph, PlanOptions options);

class EmittedProgram {
 public:
  /// A kernel under the schedule that the heuristic chose.
  struct Item {
    const Kernel* kernel;
    Source source;
    /// A call of the user's, of which there is nothing to compile.
    bool is_call() const { return kernel->kind == KernelKind::opaque; }
  };

  EmittedProgram(const Graph& graph, const Target& target, std::span<const std::int64_t> symbols,
                 const PlanOptions& options);
  EmittedProgram(const EmittedProgram&) = delete;
  EmittedProgram& operator=(const EmittedProgram&) = delete;

  const Program& program() const { return program_; }
  std::span<const Item> kernels() const { return kernels_; }

 private:
  Program program_;
  std::vector<Item> kernels_;  ///< in the order of the program
};

}  // namespace sinter
