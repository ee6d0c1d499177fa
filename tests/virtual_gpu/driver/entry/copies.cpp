// Entry points: copies and fills of memory.
#include <cstring>

#include "tests/virtual_gpu/driver/attributes.h"
#include "tests/virtual_gpu/driver/capture.h"
#include "tests/virtual_gpu/driver/copy.h"
#include "tests/virtual_gpu/driver/entry/arguments.h"
#include "tests/virtual_gpu/driver/submission.h"

namespace sinter::virtual_gpu::driver {

namespace {

using Kind = Copy::Kind;

void check_device_range(const Call& call, CUdeviceptr pointer, std::size_t bytes) {
  if (!find_range(*call.machine.memory, pointer, bytes))
    throw Refusal(CUDA_ERROR_INVALID_VALUE,
                  fmt::format("{} bytes at {:#x} are not all in one live allocation: {}", bytes,
                              pointer, call.machine.memory->describe(pointer)));
}

/// A range of the host: pageable, or all in one pinned allocation.
void check_host_range(const Call& call, std::uint64_t pointer, std::size_t bytes) {
  require(pointer != 0, "the pointer of the host is null");
  const Allocation* const found = call.machine.memory->find(pointer);
  if (!found || found->is_freed) return;
  require(found->kind == MemoryKind::pinned, "the pointer of the host is one of a device");
  check_device_range(call, pointer, bytes);
}

/// Pageable memory is read now, as drivers do that stage it. On a coherent device the copy reads it
/// later: "the function might be synchronous with respect to host" promises nothing.
void stage(const Call& call, const StreamObject& stream, Copy& copy) {
  const bool is_pageable = !find_range(*call.machine.memory, copy.from, copy.bytes);
  if (copy.kind != Kind::host_to_device || !is_pageable || stream.capture ||
      stream.context->device->description.is_coherent)
    return;
  const auto* const from = reinterpret_cast<const std::byte*>(copy.from);
  copy.staged = std::make_shared<const std::vector<std::byte>>(from, from + copy.bytes);
}

void copy_on(Call& call, CUstream stream, Copy copy) {
  StreamObject& found = *find_usable_stream(call, stream);
  if (copy.bytes == 0) return;
  if (copy.kind == Kind::host_to_device)
    check_host_range(call, copy.from, copy.bytes);
  else
    check_device_range(call, copy.from, copy.bytes);
  if (copy.kind == Kind::device_to_host)
    check_host_range(call, copy.to, copy.bytes);
  else
    check_device_range(call, copy.to, copy.bytes);
  stage(call, found, copy);
  put(call.machine, found, make_operation(std::move(copy)));
}

/// A copy on the legacy stream that the host waits for.
void copy_now(Call& call, const Copy& copy) {
  check_unsafe(call.machine);
  copy_on(call, nullptr, copy);
  synchronize(call, pending_work(*call.context->legacy), *call.context);
}

void fill_on(Call& call, CUstream stream, const Fill& fill) {
  StreamObject& found = *find_usable_stream(call, stream);
  require(fill.to % static_cast<unsigned>(fill.element_bytes) == 0, "the pointer is not aligned");
  require(fill.count <= SIZE_MAX / 4, "there are too many elements");
  if (fill.count == 0) return;
  check_device_range(call, fill.to, fill.bytes());
  put(call.machine, found, make_operation(fill));
}

std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes,
                              CUstream stream) {
  return enter("cuMemcpyHtoDAsync", Needs::context, [&](Call& call) {
    copy_on(call, stream,
            {.kind = Kind::host_to_device, .to = to, .from = address(from), .bytes = bytes});
  });
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return enter("cuMemcpyDtoHAsync", Needs::context, [&](Call& call) {
    copy_on(call, stream,
            {.kind = Kind::device_to_host, .to = address(to), .from = from, .bytes = bytes});
  });
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                              CUstream stream) {
  return enter("cuMemcpyDtoDAsync", Needs::context, [&](Call& call) {
    copy_on(call, stream, {.kind = Kind::device_to_device, .to = to, .from = from, .bytes = bytes});
  });
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  return enter("cuMemcpyHtoD", Needs::context, [&](Call& call) {
    copy_now(call, {.kind = Kind::host_to_device, .to = to, .from = address(from), .bytes = bytes});
  });
}

CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  return enter("cuMemcpyDtoH", Needs::context, [&](Call& call) {
    copy_now(call, {.kind = Kind::device_to_host, .to = address(to), .from = from, .bytes = bytes});
  });
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return enter("cuMemcpyDtoD", Needs::context, [&](Call& call) {
    check_unsafe(call.machine);
    copy_on(call, nullptr,
            {.kind = Kind::device_to_device, .to = to, .from = from, .bytes = bytes});
  });
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return enter("cuMemsetD8Async", Needs::context, [&](Call& call) {
    fill_on(call, stream, {.to = to, .value = value, .element_bytes = 1, .count = count});
  });
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) {
  return enter("cuMemsetD32Async", Needs::context, [&](Call& call) {
    fill_on(call, stream, {.to = to, .value = value, .element_bytes = 4, .count = count});
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace sinter::virtual_gpu::driver
