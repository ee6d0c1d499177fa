// The entry points for memory and pointer attributes.
#include "runtime/driver/host/execution/memory.h"
#include "runtime/driver/host/state.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace sinter::host {
namespace {

/// Frees memory now. First runs all queued work, which may use it.
CUresult free_now(CUdeviceptr pointer, MemoryKind kind, const char* kind_name) {
  const auto* const start = reinterpret_cast<const void*>(pointer);
  const std::optional<std::size_t> bytes = mark_freeing(pointer, kind);
  if (!bytes)
    return fail(CUDA_ERROR_INVALID_VALUE,
                fmt::format("{} is not the start of a live {} allocation: it is {}", start,
                            kind_name, describe_address(start)));
  scheduler().drain(current_device());
  if (free_memory(pointer)) return CUDA_SUCCESS;
  std::string text = fmt::format("something wrote just outside the {} bytes at {}", *bytes, start);
  scheduler().set_failure({CUDA_ERROR_ILLEGAL_ADDRESS, text});
  return fail(CUDA_ERROR_ILLEGAL_ADDRESS, std::move(text));
}

void get_attribute(void* value, CUpointer_attribute attribute, const Allocation& allocation) {
  const auto answer = [value](auto result) { std::memcpy(value, &result, sizeof(result)); };
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return answer(allocation.kind == MemoryKind::pinned ? CU_MEMORYTYPE_HOST
                                                          : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return answer(allocation.device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return answer(static_cast<CUdeviceptr>(allocation.start));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return answer(allocation.bytes);
  }
}

}  // namespace

namespace entry {

CUresult cuMemAlloc(CUdeviceptr* pointer, std::size_t bytes) {
  if (!pointer || bytes == 0) return fail(CUDA_ERROR_INVALID_VALUE, "an allocation of 0 bytes");
  const std::uint64_t total = device_memory_bytes(), live = memory_use().live_bytes;
  const std::uint64_t available = total - std::min(total, live);
  *pointer = bytes <= available ? allocate(bytes, MemoryKind::device, current_device()) : 0;
  if (*pointer) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_OUT_OF_MEMORY,
              fmt::format("{} bytes asked for, {} of {} free", bytes, available, total));
}

CUresult cuMemFree(CUdeviceptr pointer) {
  return pointer ? free_now(pointer, MemoryKind::device, "device") : CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned kKnownFlags = kMemHostAllocPortable | kMemHostAllocDeviceMap;
  if (!pointer || bytes == 0 || (flags & ~kKnownFlags)) return CUDA_ERROR_INVALID_VALUE;
  *pointer = reinterpret_cast<void*>(allocate(bytes, MemoryKind::pinned));
  return *pointer ? CUDA_SUCCESS
                  : fail(CUDA_ERROR_OUT_OF_MEMORY, fmt::format("{} bytes to pin", bytes));
}

CUresult cuMemFreeHost(void* pointer) {
  if (!pointer) return CUDA_SUCCESS;
  return free_now(reinterpret_cast<CUdeviceptr>(pointer), MemoryKind::pinned, "pinned");
}

CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = device_memory_bytes();
  *free = *total - std::min<std::size_t>(*total, memory_use().live_bytes);
  return CUDA_SUCCESS;
}

// Like the real driver, this succeeds for any pointer: missing values become 0.
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values,
                                CUdeviceptr pointer) {
  const std::optional<Allocation> allocation = find_allocation(pointer);
  for (unsigned i = 0; i < count; ++i) {
    const bool is_wide = attributes[i] != CU_POINTER_ATTRIBUTE_MEMORY_TYPE &&
                         attributes[i] != CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
    std::memset(values[i], 0, is_wide ? 8 : 4);
    if (allocation) get_attribute(values[i], attributes[i], *allocation);
  }
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace sinter::host
