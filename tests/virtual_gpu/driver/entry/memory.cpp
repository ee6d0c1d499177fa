// Entry points: memory, and questions about pointers.
#include <cstring>

#include "tests/virtual_gpu/driver/capture.h"
#include "tests/virtual_gpu/driver/copy.h"
#include "tests/virtual_gpu/driver/entry/arguments.h"
#include "tests/virtual_gpu/driver/submission.h"

namespace sinter::virtual_gpu::driver {

namespace {

constexpr unsigned kAllHostAllocFlags = 7;
constexpr int kInvalidDevice = -2;  ///< CU_DEVICE_INVALID

Allocation& allocate(const Call& call, std::size_t bytes) {
  require(bytes > 0, "0 bytes cannot be allocated");
  GlobalMemory& memory = *call.machine.memory;
  const Device& device = *call.context->device;
  const std::uint64_t used = memory.used_bytes(device.ordinal);
  if (used > device.memory_bytes || bytes > device.memory_bytes - used)
    throw Refusal(CUDA_ERROR_OUT_OF_MEMORY,
                  fmt::format("{} of {} bytes are in use", used, device.memory_bytes));
  return memory.allocate(bytes, device.ordinal, MemoryKind::device);
}

/// cuMemFree "may perform implicit synchronization". Real drivers do, and programs rely on it. It
/// orders no later work, since it is not promised.
void wait_for_device(Call& call, int ordinal) {
  const std::shared_ptr<ContextObject> context =
      call.machine.devices[static_cast<std::size_t>(ordinal)]->primary;
  if (context && context->failure == CUDA_SUCCESS) wait_for(call, pending_work(*context), *context);
}

Allocation& find_begin(const Call& call, std::uint64_t address, MemoryKind kind) {
  Allocation* const found = call.machine.memory->find_begin(address);
  require(found && !found->is_freed && found->kind == kind,
          "the pointer is not the begin of a live allocation of the kind");
  return *found;
}

/// One attribute of a pointer. Default values for one that the driver does not know, which is null.
void write_attribute(const Call& call, unsigned attribute, void* to, const Allocation* memory,
                     CUdeviceptr pointer) {
  const auto write = [&](auto value) { std::memcpy(to, &value, sizeof value); };
  const bool is_pinned = memory && memory->kind == MemoryKind::pinned;
  switch (attribute) {
    case 1: {  // CONTEXT
      const std::shared_ptr<ContextObject> context =
          memory ? call.machine.devices[static_cast<std::size_t>(memory->device)]->primary
                 : nullptr;
      return write(context ? context->handle : nullptr);
    }
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return write(!memory     ? CUmemorytype{}
                   : is_pinned ? CU_MEMORYTYPE_HOST
                               : CU_MEMORYTYPE_DEVICE);
    case 3: return write(memory ? pointer : CUdeviceptr{});            // DEVICE_POINTER
    case 4: return write(is_pinned ? pointer : CUdeviceptr{});         // HOST_POINTER
    case 7: return write(memory ? memory->address : std::uint64_t{});  // BUFFER_ID
    case 8: return write(0U);                                          // IS_MANAGED
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return write(memory ? memory->device : kInvalidDevice);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return write(memory ? memory->address : std::uint64_t{});
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return write(memory ? static_cast<std::size_t>(memory->size) : std::size_t{});
    case 13: return write(memory ? 1U : 0U);  // MAPPED
    default:
      throw Refusal(CUDA_ERROR_INVALID_VALUE,
                    fmt::format("pointer attribute {} is not modelled", attribute));
  }
}

const Allocation* live_memory(const Call& call, CUdeviceptr pointer) {
  const Allocation* const found = call.machine.memory->find(pointer);
  return found && !found->is_freed ? found : nullptr;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t bytes) {
  return enter("cuMemAlloc", Needs::context, [&](Call& call) {
    require(pointer, "pointer is null");
    check_unsafe(call.machine);
    *pointer = allocate(call, bytes).address;
  });
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  return enter("cuMemFree", Needs::context, [&](Call& call) {
    check_unsafe(call.machine);
    if (pointer == 0) return;
    const int device = find_begin(call, pointer, MemoryKind::device).device;
    wait_for_device(call, device);
    // Another thread may have freed it meanwhile.
    call.machine.memory->free(find_begin(call, pointer, MemoryKind::device));
    call.machine.pool_allocations.erase(pointer);
  });
}

CUresult cuMemAllocAsync(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
  return enter("cuMemAllocAsync", Needs::context, [&](Call& call) {
    require(pointer, "pointer is null");
    StreamObject& found = *find_usable_stream(call, stream);
    const Allocation& memory = allocate(call, bytes);
    call.machine.pool_allocations[memory.address] = memory.device;
    *pointer = memory.address;
    put(call.machine, found,
        make_operation(PoolAllocation{.address = memory.address, .bytes = bytes}));
  });
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
  return enter("cuMemFreeAsync", Needs::context, [&](Call& call) {
    StreamObject& found = *find_usable_stream(call, stream);
    find_begin(call, pointer, MemoryKind::device);
    require(call.machine.pool_allocations.erase(pointer) == 1 || found.capture,
            "the memory is not of cuMemAllocAsync, or was released already");
    put(call.machine, found, make_operation(PoolRelease{.address = pointer}));
  });
}

CUresult cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  return enter("cuMemHostAlloc", Needs::context, [&](Call& call) {
    require(pointer && bytes > 0 && flags <= kAllHostAllocFlags, "an argument is invalid");
    check_unsafe(call.machine);
    Allocation& memory =
        call.machine.memory->allocate(bytes, call.context->device->ordinal, MemoryKind::pinned);
    // Writes of the host are not seen, so all bytes count as initialised.
    memory.shadow.mark_initialized(0, bytes);
    *pointer = reinterpret_cast<void*>(memory.address);
  });
}

CUresult cuMemFreeHost(void* pointer) {
  return enter("cuMemFreeHost", Needs::context, [&](Call& call) {
    check_unsafe(call.machine);
    if (!pointer) return;
    const auto address = reinterpret_cast<std::uint64_t>(pointer);
    find_begin(call, address, MemoryKind::pinned);
    // Real drivers wait for the device here. The API does not promise it, so only the fair schedule
    // does.
    if (call.machine.configuration.schedule == Schedule::fair)
      for (const std::unique_ptr<Device>& device : call.machine.devices)
        wait_for_device(call, device->ordinal);
    call.machine.memory->free(find_begin(call, address, MemoryKind::pinned));
  });
}

CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return enter("cuMemGetInfo", Needs::context, [&](Call& call) {
    require(free && total, "a pointer is null");
    const Device& device = *call.context->device;
    *total = device.memory_bytes;
    *free = device.memory_bytes - call.machine.memory->used_bytes(device.ordinal);
  });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values,
                                CUdeviceptr pointer) {
  return enter("cuPointerGetAttributes", Needs::context, [&](Call& call) {
    require(count > 0 && attributes && values, "an argument is null or 0");
    const Allocation* const memory = live_memory(call, pointer);
    for (unsigned i = 0; i < count; ++i) {
      require(values[i], "the place of a value is null");
      write_attribute(call, static_cast<unsigned>(attributes[i]), values[i], memory, pointer);
    }
  });
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  return enter("cuPointerGetAttribute", Needs::context, [&](Call& call) {
    const Allocation* const memory = live_memory(call, pointer);
    require(value && memory, "the driver does not know the pointer");
    write_attribute(call, static_cast<unsigned>(attribute), value, memory, pointer);
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace sinter::virtual_gpu::driver
