// What a compiled kernel shows without running: widths of its accesses, occupancy, bytes in flight.
#pragma once

#include <string_view>

#include "codegen/text/source.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"
#include "sinter/explain.h"

namespace sinter {

/// Fills in what is read from the PTX; `explanation.report` must be complete, registers included.
void add_static_analysis(KernelExplanation& explanation, const Program& program,
                         const Source& source, std::string_view ptx, const Target& target);

}  // namespace sinter
