// Writes prefetches for CPUs, which do not predict every order of accesses.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/statements/kernel_writer.h"

namespace sinter {

/// Small arrays stay in the caches of a few cores. Prefetches of those cost more than they gain.
bool KernelWriter::is_worth_prefetching(int buffer, const Index& at, int axis, int vector) const {
  constexpr std::int64_t kMostCachedBytes = 8 << 20;
  const Buffer& memory = program.buffers[static_cast<std::size_t>(buffer)];
  const Extent bytes = memory.elements * Extent(size_of(memory.dtype));
  const std::optional<Extent> step = step_along(at, axis, vector, program.facts);
  return schedule.is_for_cpu() && !has_indirect(at) && step && step->is(1) &&
         !shared_buffers_.contains(buffer) && !written_to_shared_.contains(buffer) &&
         !(bytes.is_number() && bytes.number() <= kMostCachedBytes);
}

bool KernelWriter::may_prefetch(int value, int axis, int next_axis, int vector) const {
  const Value& v = value_at(value);
  return v.kind == Value::Kind::load && v.conditions.empty() && row_of(v).empty() &&
         depends_on(v.at, next_axis) && is_worth_prefetching(buffer_of(v), v.at, axis, vector);
}

void KernelWriter::write_prefetch(int value, int vector) {
  const Value& v = value_at(value);
  out.line(fmt::format("prefetch<{}>({}, {});", vector, buffer_name(buffer_of(v), false),
                       index_text(v, false)));
}

void KernelWriter::write_prefetches_for_stores() {
  for (const BodyStore& store : body.stores)
    if (store.varies && store.conditions.empty() &&
        is_worth_prefetching(buffer_of(store), store.at, vector_axis, schedule.vector))
      out.line(fmt::format("prefetch_for_store<{}>({}, {});", schedule.vector,
                           buffer_name(buffer_of(store), true), text(store.at, false)));
}

}  // namespace sinter
