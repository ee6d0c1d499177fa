#include "compiler/body/sub_buffer.h"

#include "compiler/body/access.h"
#include "ir/support/checked_arithmetic.h"

namespace sinter {

int whole_of(const Program& program, int buffer) {
  const int whole = program.buffers[static_cast<std::size_t>(buffer)].parent;
  return whole < 0 ? buffer : whole;
}

std::int64_t offset_bytes(const Buffer& part, std::span<const std::int64_t> symbols) {
  return checked_product(evaluate(part.offset, symbols), size_of(part.dtype));
}

int aligned_elements(const Program& program, int buffer) {
  const Buffer& memory = program.buffers[static_cast<std::size_t>(buffer)];
  if (memory.parent < 0 || product(memory.node->shape).is(1)) return kWellAligned;
  return static_cast<int>(divisor_of(memory.offset, program.facts));
}

}  // namespace sinter
