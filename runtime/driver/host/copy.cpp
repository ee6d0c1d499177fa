// Copies and fills, on streams and as the work of graph nodes.
#include "runtime/driver/host/capture.h"
#include "runtime/driver/host/execution/memory.h"
#include "runtime/driver/host/state.h"

#include <cstdint>
#include <cstring>
#include <new>

#include <fmt/format.h>

namespace sinter::host {
namespace {

std::string byte_range_text(const char* what, std::uintptr_t start, std::size_t bytes) {
  return fmt::format("{} of {} bytes at {}, which is {}", what, bytes,
                     reinterpret_cast<const void*>(start),
                     describe_address(reinterpret_cast<const void*>(start)));
}

/// True if the range may be accessed: inside an allocation, or, for host memory, outside of all.
bool is_legal(const CopySide& side, std::size_t bytes) {
  const std::optional<Allocation> allocation = find_allocation(side.start);
  if (!allocation) return !side.is_device;
  // Perhaps only a part of the host memory is lent. Copies may also access the rest.
  if (!side.is_device && allocation->kind == MemoryKind::lent) return true;
  return bytes <= allocation->end() - side.start;
}

/// The failure of a copy that accesses memory that it may not access, with this code.
Failure illegal_access(const CopyWork& copy, CUresult code) {
  for (const CopySide& side : {copy.from, copy.to})
    if (!is_legal(side, copy.bytes))
      return {code, byte_range_text("a copy", side.start, copy.bytes)};
  return {};
}
Failure illegal_access(const FillWork& fill, CUresult code) {
  if (is_legal({.start = fill.to, .is_device = true}, fill.bytes)) return {};
  return {code, byte_range_text("a fill", fill.to, fill.bytes)};
}

/// True for pageable memory. Lent memory is pageable if the copy calls it host memory.
bool is_pageable(const CopySide& side) {
  const std::optional<Allocation> allocation = find_allocation(side.start);
  return !allocation || (!side.is_device && allocation->kind == MemoryKind::lent);
}

CUresult submit_copy(CopyWork copy, CUstream stream) {
  const auto state = find_stream(stream);
  if (!state) return invalid_stream();
  if (copy.bytes == 0) return CUDA_SUCCESS;
  if (const CUresult result = result_of(illegal_access(copy, CUDA_ERROR_INVALID_VALUE));
      result != CUDA_SUCCESS)
    return result;
  if (is_capturing(state)) return capture_work(state, copy);

  // Pageable memory: sources are staged at once, and targets are written when the call returns.
  std::shared_ptr<std::vector<std::byte>> staged;
  if (is_pageable(copy.from)) {
    const auto* const from = reinterpret_cast<const std::byte*>(copy.from.start);
    staged = std::make_shared<std::vector<std::byte>>(from, from + copy.bytes);
    copy.from = {.start = reinterpret_cast<std::uintptr_t>(staged->data()), .is_device = false};
  }
  const bool must_wait = is_pageable(copy.to);
  if (must_wait)
    if (const CUresult result = refuse_unsafe("a copy to pageable memory"); result != CUDA_SUCCESS)
      return result;
  const Point done = scheduler().submit(state, {.run = [copy, staged] { return run_copy(copy); }});
  if (!must_wait) return CUDA_SUCCESS;
  update_counters([](Counters& counters) { ++counters.synchronizations; });
  try {
    return run_until({done});
  } catch (const std::bad_alloc&) {  // the caller may free its memory after this returns
    scheduler().drain(current_device());
    throw;
  }
}

CUresult submit_fill(CUdeviceptr to, unsigned value, std::size_t element_bytes, std::size_t count,
                     CUstream stream) {
  const auto state = find_stream(stream);
  if (!state) return invalid_stream();
  if (to % element_bytes) return fail(CUDA_ERROR_INVALID_VALUE, "a fill at a misaligned address");
  if (count == 0) return CUDA_SUCCESS;
  FillWork fill{.to = to, .value = value, .element_bytes = element_bytes, .bytes = SIZE_MAX};
  if (count <= SIZE_MAX / element_bytes) fill.bytes = count * element_bytes;
  if (const CUresult result = result_of(illegal_access(fill, CUDA_ERROR_INVALID_VALUE));
      result != CUDA_SUCCESS)
    return result;
  if (is_capturing(state)) return capture_work(state, fill);
  scheduler().submit(state, {.run = [fill] { return run_fill(fill); }});
  return CUDA_SUCCESS;
}

}  // namespace

Failure run_copy(const CopyWork& copy) {
  Failure failure = illegal_access(copy, CUDA_ERROR_ILLEGAL_ADDRESS);
  if (failure.code != CUDA_SUCCESS) return failure;
  std::memmove(reinterpret_cast<void*>(copy.to.start),
               reinterpret_cast<const void*>(copy.from.start), copy.bytes);
  update_counters([&](Counters& counters) {
    ++counters.copies;
    counters.copied_bytes += copy.bytes;
  });
  return {};
}

Failure run_fill(const FillWork& fill) {
  Failure failure = illegal_access(fill, CUDA_ERROR_ILLEGAL_ADDRESS);
  if (failure.code != CUDA_SUCCESS) return failure;
  auto* const start = reinterpret_cast<std::byte*>(fill.to);
  if (fill.element_bytes == 1)
    std::memset(start, static_cast<int>(fill.value), fill.bytes);
  else
    for (std::size_t at = 0; at < fill.bytes; at += fill.element_bytes)  // little-endian
      std::memcpy(start + at, &fill.value, fill.element_bytes);
  update_counters([](Counters& counters) { ++counters.memsets; });
  return {};
}

namespace entry {

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return submit_copy(
      {.to = {to, true}, .from = {reinterpret_cast<std::uintptr_t>(from), false}, .bytes = bytes},
      stream);
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return submit_copy(
      {.to = {reinterpret_cast<std::uintptr_t>(to), false}, .from = {from, true}, .bytes = bytes},
      stream);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return submit_copy({.to = {to, true}, .from = {from, true}, .bytes = bytes}, stream);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return submit_fill(to, value, sizeof(value), count, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) {
  return submit_fill(to, value, sizeof(value), count, stream);
}

}  // namespace entry
}  // namespace sinter::host
