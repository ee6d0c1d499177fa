// The functions of the driver double that the NCCL double calls.
#pragma once

#include <cstddef>

#include "runtime/driver/cuda_abi.h"

namespace sinter::nccl_double {

struct DriverCalls {
  cuda::CUresult (*cuCtxGetDevice)(int* device) = nullptr;
  cuda::CUresult (*cuMemHostAlloc)(void** pointer, std::size_t bytes, unsigned flags) = nullptr;
  cuda::CUresult (*cuMemcpyHtoDAsync)(cuda::CUdeviceptr to, const void* from, std::size_t bytes,
                                      cuda::CUstream stream) = nullptr;
  cuda::CUresult (*cuMemcpyDtoHAsync)(void* to, cuda::CUdeviceptr from, std::size_t bytes,
                                      cuda::CUstream stream) = nullptr;
  cuda::CUresult (*cuPointerGetAttribute)(void* value, int attribute,
                                          cuda::CUdeviceptr pointer) = nullptr;
  cuda::CUresult (*cuStreamGetCaptureInfo)(cuda::CUstream stream,
                                           cuda::CUstreamCaptureStatus* status,
                                           unsigned long long* id, cuda::CUgraph* graph,
                                           const cuda::CUgraphNode** dependencies,
                                           std::size_t* count) = nullptr;
  cuda::CUresult (*cuUserObjectCreate)(cuda::CUuserObject* object, void* data,
                                       void (*destroy)(void*), unsigned count,
                                       unsigned flags) = nullptr;
  cuda::CUresult (*cuGraphRetainUserObject)(cuda::CUgraph graph, cuda::CUuserObject object,
                                            unsigned count, unsigned flags) = nullptr;
  cuda::CUresult (*virtualGpuLaunchWhenReady)(cuda::CUstream stream, int (*is_ready)(void*),
                                              void (*function)(void*), void* data) = nullptr;
};

/// The driver of this process. Ends the process with a message if it is not the driver double.
const DriverCalls& driver_calls();

}  // namespace sinter::nccl_double
