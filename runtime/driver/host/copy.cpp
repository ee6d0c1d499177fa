// Copies and fills, on streams and as the work of graph nodes.
#include "runtime/driver/host/capture.h"
#include "runtime/driver/host/execution/memory.h"
#include "runtime/driver/host/state.h"

#include <cstring>
#include <new>

#include <fmt/format.h>

namespace sinter::host {
namespace {

/// One side of a copy: rows of bytes at a pitch, in planes of `height` rows.
struct Side {
  std::uintptr_t start;
  std::size_t pitch, height;
  bool is_device;  // must be device memory

  std::uintptr_t row(std::size_t y, std::size_t z) const {
    return start + (z * height + y) * pitch;
  }
};

Side source_of(const CUDA_MEMCPY3D& copy) {
  const bool is_host = copy.srcMemoryType == CU_MEMORYTYPE_HOST;
  const std::uintptr_t base =
      is_host ? reinterpret_cast<std::uintptr_t>(copy.srcHost) : copy.srcDevice;
  Side side{base, copy.srcPitch, copy.srcHeight, copy.srcMemoryType == CU_MEMORYTYPE_DEVICE};
  side.start = side.row(copy.srcY, copy.srcZ) + copy.srcXInBytes;
  return side;
}

Side target_of(const CUDA_MEMCPY3D& copy) {
  const bool is_host = copy.dstMemoryType == CU_MEMORYTYPE_HOST;
  const std::uintptr_t base =
      is_host ? reinterpret_cast<std::uintptr_t>(copy.dstHost) : copy.dstDevice;
  Side side{base, copy.dstPitch, copy.dstHeight, copy.dstMemoryType == CU_MEMORYTYPE_DEVICE};
  side.start = side.row(copy.dstY, copy.dstZ) + copy.dstXInBytes;
  return side;
}

/// All bytes from the first row's start to the last row's end.
std::size_t span_of(const Side& side, const CUDA_MEMCPY3D& copy) {
  return side.row(copy.Height - 1, copy.Depth - 1) + copy.WidthInBytes - side.start;
}

std::string byte_range_text(const char* what, std::uintptr_t start, std::size_t bytes) {
  return fmt::format("{} of {} bytes at {}, which is {}", what, bytes,
                     reinterpret_cast<const void*>(start),
                     describe_address(reinterpret_cast<const void*>(start)));
}

/// True if the range may be accessed: inside an allocation, or, for host memory, outside of all.
bool is_legal(const Side& side, std::size_t bytes, bool must_be_ready) {
  const std::optional<Allocation> allocation = find_allocation(side.start);
  if (!allocation) return !side.is_device;
  // Perhaps only a part of the host memory is lent. Copies may also access the rest.
  if (!side.is_device && allocation->kind == MemoryKind::lent) return true;
  return bytes <= allocation->end() - side.start && (allocation->is_ready || !must_be_ready);
}

/// True for pageable memory. Lent memory is pageable if the copy calls it host memory.
bool is_pageable(const Side& side, CUmemorytype type) {
  const std::optional<Allocation> allocation = find_allocation(side.start);
  if (!allocation) return true;
  return type == CU_MEMORYTYPE_HOST && allocation->kind == MemoryKind::lent;
}

CUDA_MEMCPY3D flat_copy(CUdeviceptr to, CUmemorytype to_type, CUdeviceptr from,
                        CUmemorytype from_type, std::size_t bytes) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = from_type;
  copy.srcHost = reinterpret_cast<const void*>(from);
  copy.srcDevice = from;
  copy.dstMemoryType = to_type;
  copy.dstHost = reinterpret_cast<void*>(to);
  copy.dstDevice = to;
  copy.WidthInBytes = bytes;
  copy.Height = copy.Depth = 1;
  return copy;
}

CUresult submit_copy(CUDA_MEMCPY3D copy, CUstream stream) {
  const auto state = find_stream(stream);
  if (!state) return invalid_stream();
  if (const CUresult result = check_copy(copy); result != CUDA_SUCCESS) return result;
  if (copy.WidthInBytes == 0) return CUDA_SUCCESS;
  if (is_capturing(state)) return capture_work(state, copy);

  // Pageable memory: sources are staged at once, and targets are written when the call returns.
  std::shared_ptr<std::vector<std::byte>> staged;
  if (const Side source = source_of(copy); is_pageable(source, copy.srcMemoryType)) {
    const auto* const from = reinterpret_cast<const std::byte*>(source.start);
    staged = std::make_shared<std::vector<std::byte>>(from, from + copy.WidthInBytes);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = staged->data();
  }
  const bool must_wait = is_pageable(target_of(copy), copy.dstMemoryType);
  if (must_wait)
    if (const CUresult result = refuse_unsafe("a copy to pageable memory"); result != CUDA_SUCCESS)
      return result;
  const Point done = scheduler().submit(state, {.run = [copy, staged] { return run_copy(copy); }});
  if (!must_wait) return CUDA_SUCCESS;
  update_counters([](Counters& counters) { ++counters.synchronizations; });
  try {
    return run_until({done});
  } catch (const std::bad_alloc&) {  // the caller may free its memory after this returns
    scheduler().drain();
    throw;
  }
}

CUresult submit_memset(const CUDA_MEMSET_NODE_PARAMS& memset, CUstream stream) {
  const auto state = find_stream(stream);
  if (!state) return invalid_stream();
  if (const CUresult result = check_memset(memset); result != CUDA_SUCCESS) return result;
  if (memset.width == 0) return CUDA_SUCCESS;
  if (is_capturing(state)) return capture_work(state, memset);
  scheduler().submit(state, {.run = [memset] { return run_memset(memset); }});
  return CUDA_SUCCESS;
}

Side target_of(const CUDA_MEMSET_NODE_PARAMS& memset) {
  return {memset.dst, memset.pitch, /*height=*/0, /*is_device=*/true};
}

std::size_t span_of(const CUDA_MEMSET_NODE_PARAMS& memset) {
  return (memset.height - 1) * memset.pitch + memset.width * memset.elementSize;
}

}  // namespace

CUresult check_copy(const CUDA_MEMCPY3D& copy) {
  const auto is_known = [](CUmemorytype type) {
    return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE ||
           type == CU_MEMORYTYPE_UNIFIED;
  };
  if (!is_known(copy.srcMemoryType) || !is_known(copy.dstMemoryType))
    return fail(CUDA_ERROR_INVALID_VALUE, "a copy between memory types that are not known");
  if (copy.WidthInBytes == 0) return CUDA_SUCCESS;
  if (copy.Height == 0 || copy.Depth == 0)
    return fail(CUDA_ERROR_INVALID_VALUE, "a copy of no rows");
  for (const Side& side : {source_of(copy), target_of(copy)})
    if (!is_legal(side, span_of(side, copy), /*must_be_ready=*/false))
      return fail(CUDA_ERROR_INVALID_VALUE,
                  byte_range_text("a copy", side.start, span_of(side, copy)));
  return CUDA_SUCCESS;
}

Failure run_copy(const CUDA_MEMCPY3D& copy) {
  if (copy.WidthInBytes == 0) return {};
  const Side source = source_of(copy), target = target_of(copy);
  for (const Side& side : {source, target})
    if (!is_legal(side, span_of(side, copy), /*must_be_ready=*/true))
      return {CUDA_ERROR_ILLEGAL_ADDRESS,
              byte_range_text("a copy", side.start, span_of(side, copy))};
  for (std::size_t z = 0; z < copy.Depth; ++z)
    for (std::size_t y = 0; y < copy.Height; ++y)
      std::memmove(reinterpret_cast<void*>(target.row(y, z)),
                   reinterpret_cast<const void*>(source.row(y, z)), copy.WidthInBytes);
  const std::uint64_t bytes = copy.WidthInBytes * copy.Height * copy.Depth;
  update_counters([bytes](Counters& counters) {
    ++counters.copies;
    counters.copied_bytes += bytes;
  });
  return {};
}

CUresult check_memset(const CUDA_MEMSET_NODE_PARAMS& memset) {
  const unsigned size = memset.elementSize;
  if (size != 1 && size != 2 && size != 4)
    return fail(CUDA_ERROR_INVALID_VALUE, fmt::format("a fill with {}-byte elements", size));
  if (memset.dst % size) return fail(CUDA_ERROR_INVALID_VALUE, "a fill at a misaligned address");
  if (memset.width == 0) return CUDA_SUCCESS;
  if (memset.height == 0) return fail(CUDA_ERROR_INVALID_VALUE, "a fill of no rows");
  if (!is_legal(target_of(memset), span_of(memset), /*must_be_ready=*/false))
    return fail(CUDA_ERROR_INVALID_VALUE, byte_range_text("a fill", memset.dst, span_of(memset)));
  return CUDA_SUCCESS;
}

Failure run_memset(const CUDA_MEMSET_NODE_PARAMS& memset) {
  if (memset.width == 0) return {};
  if (!is_legal(target_of(memset), span_of(memset), /*must_be_ready=*/true))
    return {CUDA_ERROR_ILLEGAL_ADDRESS, byte_range_text("a fill", memset.dst, span_of(memset))};
  for (std::size_t y = 0; y < memset.height; ++y) {
    auto* const row = reinterpret_cast<std::byte*>(memset.dst + y * memset.pitch);
    if (memset.elementSize == 1) {
      std::memset(row, static_cast<int>(memset.value), memset.width);
      continue;
    }
    for (std::size_t x = 0; x < memset.width; ++x)  // little-endian: the value's low bytes
      std::memcpy(row + x * memset.elementSize, &memset.value, memset.elementSize);
  }
  update_counters([](Counters& counters) { ++counters.memsets; });
  return {};
}

namespace entry {

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return submit_copy(flat_copy(to, CU_MEMORYTYPE_DEVICE, reinterpret_cast<CUdeviceptr>(from),
                               CU_MEMORYTYPE_HOST, bytes),
                     stream);
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return submit_copy(flat_copy(reinterpret_cast<CUdeviceptr>(to), CU_MEMORYTYPE_HOST, from,
                               CU_MEMORYTYPE_DEVICE, bytes),
                     stream);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return submit_copy(flat_copy(to, CU_MEMORYTYPE_DEVICE, from, CU_MEMORYTYPE_DEVICE, bytes),
                     stream);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return submit_memset(
      {.dst = to, .pitch = 0, .value = value, .elementSize = 1, .width = count, .height = 1},
      stream);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) {
  return submit_memset(
      {.dst = to, .pitch = 0, .value = value, .elementSize = 4, .width = count, .height = 1},
      stream);
}

}  // namespace entry
}  // namespace sinter::host
