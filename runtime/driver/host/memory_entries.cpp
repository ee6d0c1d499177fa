// Allocation, and what pointers are.
#include "runtime/driver/host/capture.h"
#include "runtime/driver/host/execution/memory.h"
#include "runtime/driver/host/state.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace sinter::host {
namespace {

/// One for each device; they keep nothing, so that they are alike.
char pools[kDevices];

bool is_default_pool(CUmemoryPool pool) {
  const auto* const place = reinterpret_cast<const char*>(pool);
  return place >= pools && place < pools + kDevices;
}
std::atomic<unsigned long long> release_threshold = 0;

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

/// Frees at once, after all work: work that is queued may use the memory.
CUresult free_now(CUdeviceptr pointer, MemoryKind kind, const char* kind_name) {
  if (!starts(pointer, kind) || !mark_freeing(pointer)) return not_allocated(pointer, kind_name);
  schedule().drain();
  const Failure failure = release(pointer);
  if (failure.code == CUDA_SUCCESS) return CUDA_SUCCESS;
  schedule().set_failure(failure);
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

// The address is known at once; the memory is not there before the stream comes to it.
CUresult cuMemAllocAsync(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
  const auto state = find_stream(stream);
  if (!state) return invalid_stream();
  // Memory that a graph has of its own is not there on this device.
  if (const CUresult result = refuse_in_capture(state, "cuMemAllocAsync"); result != CUDA_SUCCESS)
    return result;
  if (const CUresult result = allocate_device(pointer, bytes, /*is_ready=*/false, state->device);
      result != CUDA_SUCCESS)
    return result;
  const std::uintptr_t start = *pointer;
  schedule().submit(state, {.run = [start] {
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
  schedule().submit(state, {.run = [pointer] { return release(pointer); }});
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  if (device < 0 || device >= kDevices) return CUDA_ERROR_INVALID_DEVICE;
  *pool = reinterpret_cast<CUmemoryPool>(pools + device);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  if (!is_default_pool(pool) || attribute != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    return fail(CUDA_ERROR_INVALID_VALUE, "only the release threshold of the default pool is set");
  release_threshold = *static_cast<unsigned long long*>(value);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  if (!is_default_pool(pool)) return fail(CUDA_ERROR_INVALID_VALUE, "not the default pool");
  auto& result = *static_cast<unsigned long long*>(value);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: result = release_threshold; return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: result = memory_use().live_bytes; return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: result = memory_use().peak_bytes; return CUDA_SUCCESS;
  }
  return fail(CUDA_ERROR_INVALID_VALUE, "that pool attribute is not known");
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, std::size_t) {
  // Freed memory is never kept, so there is nothing to trim.
  return is_default_pool(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
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

CUresult cuMemHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned kKnownFlags = kMemHostRegisterPortable | kMemHostRegisterDeviceMap;
  if (!pointer || bytes == 0 || (flags & ~kKnownFlags)) return CUDA_ERROR_INVALID_VALUE;
  return register_memory(reinterpret_cast<std::uintptr_t>(pointer), bytes)
             ? CUDA_SUCCESS
             : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CUresult cuMemHostUnregister(void* pointer) {
  const auto start = reinterpret_cast<std::uintptr_t>(pointer);
  if (!starts(start, MemoryKind::registered)) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  schedule().drain();
  unregister_memory(start);
  return CUDA_SUCCESS;
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

// As the real one, this succeeds for any pointer: values that do not exist become 0.
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
