// Sub-buffers: buffers that lie within another buffer of the program.
#pragma once

#include <cstdint>
#include <span>

#include "compiler/program/kernel.h"

namespace sinter {

/// The buffer that has memory of its own: what `buffer` is a part of, or itself.
int whole_of(const Program& program, int buffer);
/// Where a part begins in its whole, in bytes.
std::int64_t offset_bytes(const Buffer& part, std::span<const std::int64_t> symbols);
/// The elements that `buffer` begins at a multiple of, up to kWellAligned. A single element is well
/// aligned anywhere.
int aligned_elements(const Program& program, int buffer);

}  // namespace sinter
