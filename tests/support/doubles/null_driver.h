// A driver table whose calls do nothing, so that the time of a call is only sinter's own work.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/driver/driver.h"

namespace sinter::test {

template <class... Parameters>
CUresult do_nothing(Parameters...) {
  return CUDA_SUCCESS;
}

/// Returns addresses that are never accessed.
inline CUresult give_addresses(CUdeviceptr* pointer, std::size_t bytes) {
  static std::atomic<CUdeviceptr> next = 1 << 20;
  *pointer = next.fetch_add((bytes + 511) / 256 * 256);
  return CUDA_SUCCESS;
}

/// Returns handles that are never dereferenced.
template <class Handle, class... Parameters>
CUresult give_handle(Handle* handle, Parameters...) {
  *handle = reinterpret_cast<Handle>(std::uintptr_t{1});
  return CUDA_SUCCESS;
}

inline CUresult capture_nothing(CUstream, CUstreamCaptureStatus* status) {
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

inline const Driver& null_driver() {
  static const Driver driver = [] {
    Driver table;
#define SYMBOL(NAME, VERSION, NEED, PARAMETERS) table.NAME = do_nothing;
#include "runtime/driver/driver_symbols.def"
    table.cuMemAlloc = give_addresses;
    table.cuStreamIsCapturing = capture_nothing;
    table.cuGraphCreate = give_handle;
    table.cuGraphAddKernelNode = give_handle;
    table.cuGraphInstantiateWithFlags = give_handle;
    table.cuFuncGetParamInfo = nullptr;  // optional: the table knows no kernels
    table.cuStreamGetId = nullptr;       // optional: the table knows no streams
    table.name = "null";
    return table;
  }();
  return driver;
}

}  // namespace sinter::test
