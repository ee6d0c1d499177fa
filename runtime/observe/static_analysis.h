// Static analysis of a compiled kernel: the widths of its accesses, occupancy and bytes in flight.
#pragma once

#include <string_view>

#include "codegen/text/source.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"
#include "sinter/explain.h"

namespace sinter {

/// Fills in the results of the analysis of `ptx`. `explanation.report` must be complete, including
/// registers.
void add_static_analysis(KernelExplanation& explanation, const Program& program,
                         const Source& source, std::string_view ptx, const Target& target);

}  // namespace sinter
