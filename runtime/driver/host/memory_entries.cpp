// The entry points for memory and pointer attributes.
#include "runtime/driver/host/capture.h"
#include "runtime/driver/host/execution/memory.h"
#include "runtime/driver/host/state.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace sinter::host {
namespace {

CUresult allocate_device(CUdeviceptr* pointer, std::size_t bytes, bool is_ready, CUdevice device) {
  if (!pointer || bytes == 0) return fail(CUDA_ERROR_INVALID_VALUE, "an allocation of 0 bytes");
  const std::uint64_t total = device_memory_bytes(), live = memory_use().live_bytes;
  const auto refuse = [&] {
    return fail(CUDA_ERROR_OUT_OF_MEMORY,
                fmt::format("{} bytes asked for, {} of {} free", bytes, total - live, total));
  };
  if (live > total || bytes > total - live) return refuse();
  *pointer = allocate(bytes, MemoryKind::device, is_ready, device);
  return *pointer ? CUDA_SUCCESS : refuse();
}

CUresult not_allocated(CUdeviceptr pointer, const char* kind) {
  return fail(CUDA_ERROR_INVALID_VALUE,
              fmt::format("{} is not the start of a live {} allocation: it is {}",
                          reinterpret_cast<const void*>(pointer), kind,
                          describe_address(reinterpret_cast<const void*>(pointer))));
}

bool starts(CUdeviceptr pointer, MemoryKind kind) {
  const std::optional<Allocation> allocation = find_allocation(pointer);
  return allocation && allocation->start == pointer && allocation->kind == kind;
}

Failure release(CUdeviceptr pointer) {
  const Allocation allocation = find_allocation(pointer).value();
  if (free_memory(pointer) == FreeResult::freed) return {};
  return {CUDA_ERROR_ILLEGAL_ADDRESS,
          fmt::format("something wrote just outside the {} bytes at {}", allocation.bytes,
                      reinterpret_cast<const void*>(pointer))};
}

/// Frees memory now. First runs all queued work, which may use it.
CUresult free_now(CUdeviceptr pointer, MemoryKind kind, const char* kind_name) {
  if (!starts(pointer, kind) || !mark_freeing(pointer)) return not_allocated(pointer, kind_name);
  scheduler().drain();
  const Failure failure = release(pointer);
  if (failure.code == CUDA_SUCCESS) return CUDA_SUCCESS;
  scheduler().set_failure(failure);
  return fail(failure.code, failure.text);
}

CUresult pointer_attribute(void* value, CUpointer_attribute attribute, const Allocation& allocation,
                           CUdeviceptr pointer) {
  const bool is_device =
      allocation.kind == MemoryKind::device || allocation.kind == MemoryKind::lent;
  const auto answer = [value](auto result) {
    std::memcpy(value, &result, sizeof(result));
    return CUDA_SUCCESS;
  };
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return answer(context_of(allocation.device));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return answer(is_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return answer(pointer);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (is_device) return fail(CUDA_ERROR_INVALID_VALUE, "device memory has no host pointer");
      return answer(reinterpret_cast<void*>(pointer));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return answer(allocation.device);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return answer(static_cast<CUdeviceptr>(allocation.start));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return answer(allocation.bytes);
  }
  return fail(CUDA_ERROR_INVALID_VALUE, "that pointer attribute is not known");
}

}  // namespace

namespace entry {

CUresult cuMemAlloc(CUdeviceptr* pointer, std::size_t bytes) {
  return allocate_device(pointer, bytes, /*is_ready=*/true, current_device());
}

CUresult cuMemFree(CUdeviceptr pointer) {
  return pointer ? free_now(pointer, MemoryKind::device, "device") : CUDA_SUCCESS;
}

// The address is known at once. The memory becomes accessible when the stream reaches the call.
CUresult cuMemAllocAsync(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
  const auto state = find_stream(stream);
  if (!state) return invalid_stream();
  // This device does not support memory that belongs to a graph.
  if (const CUresult result = refuse_in_capture(state, "cuMemAllocAsync"); result != CUDA_SUCCESS)
    return result;
  if (const CUresult result = allocate_device(pointer, bytes, /*is_ready=*/false, state->device);
      result != CUDA_SUCCESS)
    return result;
  const std::uintptr_t start = *pointer;
  scheduler().submit(state, {.run = [start] {
                       make_ready(start);
                       return Failure();
                     }});
  return CUDA_SUCCESS;
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
  const auto state = find_stream(stream);
  if (!state) return invalid_stream();
  if (!pointer) return CUDA_SUCCESS;
  if (const CUresult result = refuse_in_capture(state, "cuMemFreeAsync"); result != CUDA_SUCCESS)
    return result;
  if (!starts(pointer, MemoryKind::device) || !mark_freeing(pointer))
    return not_allocated(pointer, "device");
  scheduler().submit(state, {.run = [pointer] { return release(pointer); }});
  return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned kKnownFlags = kMemHostAllocPortable | kMemHostAllocDeviceMap;
  if (!pointer || bytes == 0 || (flags & ~kKnownFlags)) return CUDA_ERROR_INVALID_VALUE;
  *pointer = reinterpret_cast<void*>(allocate(bytes, MemoryKind::pinned, /*is_ready=*/true));
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

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  const std::optional<Allocation> allocation = find_allocation(pointer);
  if (!allocation)
    return fail(CUDA_ERROR_INVALID_VALUE,
                fmt::format("{} is {}", reinterpret_cast<const void*>(pointer),
                            describe_address(reinterpret_cast<const void*>(pointer))));
  return pointer_attribute(value, attribute, *allocation, pointer);
}

// Like the real driver, this succeeds for any pointer: missing values become 0.
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values,
                                CUdeviceptr pointer) {
  const std::optional<Allocation> allocation = find_allocation(pointer);
  for (unsigned i = 0; i < count; ++i) {
    const bool is_wide = attributes[i] != CU_POINTER_ATTRIBUTE_MEMORY_TYPE &&
                         attributes[i] != CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
    std::memset(values[i], 0, is_wide ? 8 : 4);
    if (allocation) pointer_attribute(values[i], attributes[i], *allocation, pointer);
  }
  return CUDA_SUCCESS;
}

}  // namespace entry
}  // namespace sinter::host
