// Prints the reports of the compiled programs and the figures of the three training loops.
#pragma once

#include "train.h"

#include <sinter/sinter.h>

#include <string_view>
#include <vector>

namespace digits {

void print_programs(const sinter::Report& fused, const sinter::Report& unfused);
/// Prints the source of the kernel with the most recorded ops.
void print_a_kernel(const sinter::Report& report);
/// Prints registers and spills of the kernels on a GPU of architecture `arch`: a summary of all
/// reports and the kernels of the first one. Prints the reason if they are not known.
void print_registers(const std::vector<sinter::Report>& reports, std::string_view arch);
void print_loops(const Trained& naive, const Trained& fused, const Trained& replayed);

}  // namespace digits
