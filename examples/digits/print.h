// What the example shows of the two compiled programs and of the three ways to train.
#pragma once

#include "train.h"

#include <sinter/sinter.h>

#include <string_view>
#include <vector>

namespace digits {

void print_programs(const sinter::Report& fused, const sinter::Report& unfused);
/// The source of the kernel that does most: with the most recorded ops in it.
void print_a_kernel(const sinter::Report& report);
/// Registers and spills of all kernels of `reports` on a GPU of architecture `arch`, those of the
/// first report one by one; or why they are not known.
void print_registers(const std::vector<sinter::Report>& reports, std::string_view arch);
void print_loops(const Trained& naive, const Trained& fused, const Trained& replayed);

}  // namespace digits
