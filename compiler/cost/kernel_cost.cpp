#include "compiler/cost/kernel_cost.h"

#include "compiler/body_building/kernel_body.h"
#include "compiler/cost/cost.h"

namespace sinter {

Cost cost_of(const Program& program, const Kernel& kernel, const Target& target) {
  if (kernel.kind == KernelKind::opaque)
    return {.bytes_read = kernel.bytes, .seconds = kernel.seconds};
  if (kernel.sections.empty()) return cost_of(body_of(program, kernel), target, program.facts);
  Cost sum{.seconds = target.launch_seconds};
  for (const Kernel& section : kernel.sections) {
    const Cost cost = cost_of(body_of(program, section), target, program.facts);
    sum.bytes_read += cost.bytes_read;
    sum.bytes_written += cost.bytes_written;
    sum.instructions += cost.instructions;
    sum.seconds += cost.seconds - target.launch_seconds;
  }
  if (!kernel.has_tail) sum.seconds += target.barrier_seconds * (phases(kernel) - 1);
  return sum;
}

}  // namespace sinter
