// Reductions over all rows of one value per row, at the end of a row kernel. Every block stores the
// values of its rows in the workspace, and the last block reduces them.
#pragma once

#include <cstdint>
#include <string>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

/// Writes all final reductions of the body, and the values and stores that depend on them.
/// `first_of_row` is the condition that selects one thread per row.
void write_final_reductions(KernelWriter& writer, const std::string& first_of_row);

/// Bytes of shared memory that final reductions need per exchange; 0 if there are none.
std::int64_t final_exchange_bytes(const KernelWriter& writer);

}  // namespace sinter
