// Reductions of one value per row over all rows, at the end of a row kernel: every block leaves its
// rows' values in the workspace, and the last one to end reduces them.
#pragma once

#include <cstdint>
#include <string>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

/// Writes all of the body's final reductions and what follows from them. `first_of_row` is the
/// condition under which a thread speaks for its row.
void write_final_reductions(KernelWriter& writer, const std::string& first_of_row);

/// Shared memory per exchange that they need; 0 without any.
std::int64_t final_exchange_bytes(const KernelWriter& writer);

}  // namespace sinter
