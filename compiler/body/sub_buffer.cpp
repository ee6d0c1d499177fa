#include "compiler/body/sub_buffer.h"

#include "compiler/body/access.h"
#include "ir/support/checked_arithmetic.h"

namespace sinter {

int parent_or_self(const Program& program, int buffer) {
  const int parent = program.buffers[static_cast<std::size_t>(buffer)].parent;
  return parent < 0 ? buffer : parent;
}

std::int64_t offset_bytes(const Buffer& part, std::span<const std::int64_t> symbols) {
  return checked_product(evaluate(part.offset, symbols), size_of(part.dtype));
}

int aligned_elements(const Program& program, int buffer) {
  const Buffer& memory = program.buffers[static_cast<std::size_t>(buffer)];
  if (memory.parent < 0 || product(memory.node->shape).is(1)) return kWellAligned;
  return static_cast<int>(divisor_of(memory.offset, program.facts));
}

AccessedBuffers accessed_buffers(const Program& program, const Kernel& kernel, const Body& body) {
  AccessedBuffers result;
  for (const Value& value : body.values)
    if (value.kind == Value::Kind::load)
      result.loaded.insert(parent_or_self(program, program.buffer_of.lookup(value.node)));
  for (const Store& store : kernel.stores)
    result.stored.insert(parent_or_self(program, store.buffer));
  return result;
}

}  // namespace sinter
