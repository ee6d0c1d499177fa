// Sub-buffers: buffers that are ranges of another buffer of the program.
#pragma once

#include <cstdint>
#include <span>

#include "compiler/program/kernel.h"

namespace sinter {

/// The buffer that contains `buffer` if that is a sub-buffer, else `buffer` itself.
int whole_of(const Program& program, int buffer);
/// The start of a sub-buffer in its containing buffer, in bytes.
std::int64_t offset_bytes(const Buffer& part, std::span<const std::int64_t> symbols);
/// The number of elements that the start of `buffer` is a multiple of, up to kWellAligned. A single
/// element counts as well aligned.
int aligned_elements(const Program& program, int buffer);

}  // namespace sinter
