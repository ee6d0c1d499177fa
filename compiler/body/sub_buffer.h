// Sub-buffers: buffers that are ranges of another buffer of the program.
#pragma once

#include <cstdint>
#include <set>
#include <span>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// The buffer that contains `buffer` if that is a sub-buffer, else `buffer` itself.
int parent_or_self(const Program& program, int buffer);
/// The start of a sub-buffer in its containing buffer, in bytes.
std::int64_t offset_bytes(const Buffer& part, std::span<const std::int64_t> symbols);
/// The number of elements that the start of `buffer` is a multiple of, up to kWellAligned. A single
/// element counts as well aligned.
int aligned_elements(const Program& program, int buffer);

/// The buffers that a kernel loads and stores; sub-buffers count as the buffer that contains them.
struct AccessedBuffers {
  std::set<int> loaded;
  std::set<int> stored;
  bool contains(int buffer) const { return loaded.contains(buffer) || stored.contains(buffer); }
};
/// `body` is the body of `kernel`.
AccessedBuffers accessed_buffers(const Program& program, const Kernel& kernel, const Body& body);

}  // namespace sinter
