#include "tests/virtual_gpu/nccl/driver_calls.h"

#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include <dlfcn.h>

namespace sinter::nccl_double {

namespace {

DriverCalls find_calls() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  DriverCalls calls;
  const auto find = [&](auto& function, const char* name) {
    function = library ? reinterpret_cast<std::remove_reference_t<decltype(function)>>(
                             dlsym(library, name))
                       : nullptr;
    if (function) return;
    std::fprintf(stderr, "NCCL double: the driver has no %s; it is not the double\n", name);
    std::abort();
  };
  find(calls.cuCtxGetDevice, "cuCtxGetDevice");
  find(calls.cuMemHostAlloc, "cuMemHostAlloc");
  find(calls.cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  find(calls.cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  find(calls.cuPointerGetAttribute, "cuPointerGetAttribute");
  find(calls.cuStreamGetCaptureInfo, "cuStreamGetCaptureInfo_v2");
  find(calls.cuUserObjectCreate, "cuUserObjectCreate");
  find(calls.cuGraphRetainUserObject, "cuGraphRetainUserObject");
  find(calls.virtualGpuLaunchWhenReady, "virtualGpuLaunchWhenReady");
  return calls;
}

}  // namespace

const DriverCalls& driver_calls() {
  static const DriverCalls calls = find_calls();
  return calls;
}

}  // namespace sinter::nccl_double
