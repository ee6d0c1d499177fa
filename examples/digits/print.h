// What the example shows of the two compiled programs and of the three ways to train.
#pragma once

#include <sinter/sinter.h>

#include "train.h"

namespace digits {

void print_programs(const sinter::Report& fused, const sinter::Report& unfused);
/// The source of the kernel that does most: with the most recorded ops in it.
void print_a_kernel(const sinter::Report& report);
/// Registers and spills of each kernel of `reports` on a GPU, or why they are not known.
void print_cubins(std::initializer_list<const sinter::Report*> reports);
void print_loops(const Trained& naive, const Trained& fused, const Trained& replayed);

}  // namespace digits
