// Entry points: cuGetProcAddress, and its table of symbols.
#include <dlfcn.h>
#include <cstring>

#include "tests/virtual_gpu/driver/machine.h"

namespace sinter::virtual_gpu::driver {

namespace {

/// A version of a function: its exported symbol, and the first version of CUDA with this signature
/// on 64-bit systems. Names of types tell it, such as `PFN_cuMemAlloc_v3020` in cudaTypedefs.h.
struct Symbol {
  const char* name;
  const char* exported;
  int first_version;
};

/// Versions of one function are in rising order.
constexpr Symbol kSymbols[] = {
    {"cuCtxGetCurrent", "cuCtxGetCurrent", 4000},
    {"cuCtxGetDevice", "cuCtxGetDevice", 2000},
    {"cuCtxSetCurrent", "cuCtxSetCurrent", 4000},
    {"cuCtxSynchronize", "cuCtxSynchronize", 2000},
    {"cuDeviceGet", "cuDeviceGet", 2000},
    {"cuDeviceGetAttribute", "cuDeviceGetAttribute", 2000},
    {"cuDeviceGetCount", "cuDeviceGetCount", 2000},
    {"cuDeviceGetName", "cuDeviceGetName", 2000},
    {"cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2", 11000},
    {"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain", 7000},
    {"cuDeviceTotalMem", "cuDeviceTotalMem_v2", 3020},
    {"cuDriverGetVersion", "cuDriverGetVersion", 2020},
    {"cuEventCreate", "cuEventCreate", 2000},
    {"cuEventDestroy", "cuEventDestroy_v2", 4000},
    {"cuEventElapsedTime", "cuEventElapsedTime", 2000},
    {"cuEventElapsedTime", "cuEventElapsedTime_v2", 12080},
    {"cuEventQuery", "cuEventQuery", 2000},
    {"cuEventRecord", "cuEventRecord", 2000},
    {"cuEventSynchronize", "cuEventSynchronize", 2000},
    {"cuFuncGetAttribute", "cuFuncGetAttribute", 2020},
    {"cuFuncGetParamInfo", "cuFuncGetParamInfo", 12040},
    {"cuFuncSetAttribute", "cuFuncSetAttribute", 9000},
    {"cuGetErrorName", "cuGetErrorName", 6000},
    {"cuGetErrorString", "cuGetErrorString", 6000},
    {"cuGetProcAddress", "cuGetProcAddress", 11030},
    {"cuGetProcAddress", "cuGetProcAddress_v2", 12000},
    {"cuGraphAddChildGraphNode", "cuGraphAddChildGraphNode", 10000},
    {"cuGraphAddDependencies", "cuGraphAddDependencies", 10000},
    {"cuGraphAddDependencies", "cuGraphAddDependencies_v2", 12030},
    {"cuGraphAddEmptyNode", "cuGraphAddEmptyNode", 10000},
    {"cuGraphAddHostNode", "cuGraphAddHostNode", 10000},
    {"cuGraphAddKernelNode", "cuGraphAddKernelNode", 10000},
    {"cuGraphAddKernelNode", "cuGraphAddKernelNode_v2", 12000},
    {"cuGraphChildGraphNodeGetGraph", "cuGraphChildGraphNodeGetGraph", 10000},
    {"cuGraphCreate", "cuGraphCreate", 10000},
    {"cuGraphDestroy", "cuGraphDestroy", 10000},
    {"cuGraphExecChildGraphNodeSetParams", "cuGraphExecChildGraphNodeSetParams", 11010},
    {"cuGraphExecDestroy", "cuGraphExecDestroy", 10000},
    {"cuGraphExecKernelNodeSetParams", "cuGraphExecKernelNodeSetParams_v2", 12000},
    {"cuGraphGetEdges", "cuGraphGetEdges", 10000},
    {"cuGraphGetEdges", "cuGraphGetEdges_v2", 12030},
    {"cuGraphGetNodes", "cuGraphGetNodes", 10000},
    {"cuGraphInstantiate", "cuGraphInstantiate_v2", 11000},
    {"cuGraphInstantiateWithFlags", "cuGraphInstantiateWithFlags", 11040},
    {"cuGraphKernelNodeGetAttribute", "cuGraphKernelNodeGetAttribute", 11000},
    {"cuGraphKernelNodeSetAttribute", "cuGraphKernelNodeSetAttribute", 11000},
    {"cuGraphLaunch", "cuGraphLaunch", 10000},
    {"cuGraphNodeGetType", "cuGraphNodeGetType", 10000},
    {"cuGraphRetainUserObject", "cuGraphRetainUserObject", 11030},
    {"cuInit", "cuInit", 2000},
    {"cuLaunchHostFunc", "cuLaunchHostFunc", 10000},
    {"cuLaunchKernel", "cuLaunchKernel", 4000},
    {"cuLaunchKernelEx", "cuLaunchKernelEx", 11060},
    {"cuMemAlloc", "cuMemAlloc_v2", 3020},
    {"cuMemAllocAsync", "cuMemAllocAsync", 11020},
    {"cuMemFree", "cuMemFree_v2", 3020},
    {"cuMemFreeAsync", "cuMemFreeAsync", 11020},
    {"cuMemFreeHost", "cuMemFreeHost", 2000},
    {"cuMemGetInfo", "cuMemGetInfo_v2", 3020},
    {"cuMemHostAlloc", "cuMemHostAlloc", 2020},
    {"cuMemcpyDtoD", "cuMemcpyDtoD_v2", 3020},
    {"cuMemcpyDtoDAsync", "cuMemcpyDtoDAsync_v2", 3020},
    {"cuMemcpyDtoH", "cuMemcpyDtoH_v2", 3020},
    {"cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2", 3020},
    {"cuMemcpyHtoD", "cuMemcpyHtoD_v2", 3020},
    {"cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2", 3020},
    {"cuMemsetD32Async", "cuMemsetD32Async", 3020},
    {"cuMemsetD8Async", "cuMemsetD8Async", 3020},
    {"cuModuleGetFunction", "cuModuleGetFunction", 2000},
    {"cuModuleLoadData", "cuModuleLoadData", 2000},
    {"cuModuleLoadDataEx", "cuModuleLoadDataEx", 2010},
    {"cuModuleUnload", "cuModuleUnload", 2000},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuOccupancyMaxActiveBlocksPerMultiprocessor",
     6050},
    {"cuOccupancyMaxActiveClusters", "cuOccupancyMaxActiveClusters", 11070},
    {"cuPointerGetAttribute", "cuPointerGetAttribute", 4000},
    {"cuPointerGetAttributes", "cuPointerGetAttributes", 7000},
    {"cuStreamBeginCapture", "cuStreamBeginCapture", 10000},
    {"cuStreamBeginCapture", "cuStreamBeginCapture_v2", 10010},
    {"cuStreamCreate", "cuStreamCreate", 2000},
    {"cuStreamDestroy", "cuStreamDestroy_v2", 4000},
    {"cuStreamEndCapture", "cuStreamEndCapture", 10000},
    {"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo", 10010},
    {"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v2", 11030},
    {"cuStreamGetId", "cuStreamGetId", 12000},
    {"cuStreamIsCapturing", "cuStreamIsCapturing", 10000},
    {"cuStreamQuery", "cuStreamQuery", 2000},
    {"cuStreamSynchronize", "cuStreamSynchronize", 2000},
    {"cuStreamUpdateCaptureDependencies", "cuStreamUpdateCaptureDependencies", 11030},
    {"cuStreamWaitEvent", "cuStreamWaitEvent", 3020},
    {"cuThreadExchangeStreamCaptureMode", "cuThreadExchangeStreamCaptureMode", 10010},
    {"cuUserObjectCreate", "cuUserObjectCreate", 11030},
    {"cuUserObjectRelease", "cuUserObjectRelease", 11030},
    {"cuUserObjectRetain", "cuUserObjectRetain", 11030},
};

/// CU_GET_PROC_ADDRESS_LEGACY_STREAM and _PER_THREAD_DEFAULT_STREAM. "If a per-thread version is
/// not found, the API will return the legacy version", and there is none here.
constexpr unsigned long long kAllFlags = 3;

/// This library: a program may have loaded it without making its symbols visible.
void* this_library() {
  static void* const library = [] {
    Dl_info info{};
    if (!dladdr(reinterpret_cast<const void*>(&kSymbols), &info))
      return static_cast<void*>(nullptr);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_LOCAL);
  }();
  return library;
}

struct Found {
  const Symbol* symbol = nullptr;
  CUdriverProcAddressQueryResult status = kSymbolNotFound;
};

Found find_symbol(const char* name, int version) {
  Found found;
  const int driver = Machine::get().configuration.driver_version;
  for (const Symbol& symbol : kSymbols) {
    // An older driver does not know the name at all.
    if (std::strcmp(symbol.name, name) != 0 || symbol.first_version > driver) continue;
    if (symbol.first_version <= version) found.symbol = &symbol;
    found.status = found.symbol ? CU_GET_PROC_ADDRESS_SUCCESS : kVersionNotSufficient;
  }
  return found;
}

CUresult query(const char* name, void** address, int version, unsigned long long flags,
               CUdriverProcAddressQueryResult* status) {
  Machine& machine = Machine::get();
  const ApiLock lock(machine);
  if (const CUresult code = machine.faults.count("cuGetProcAddress"); code != CUDA_SUCCESS)
    return code;
  if (!name || !address || version > machine.configuration.driver_version || flags >= kAllFlags)
    return CUDA_ERROR_INVALID_VALUE;
  const Found found = find_symbol(name, version);
  *address = found.symbol ? dlsym(this_library(), found.symbol->exported) : nullptr;
  if (status) *status = found.status;
  return CUDA_SUCCESS;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

/// A missing function is a success with a null pointer, and only the status tells why.
CUresult cuGetProcAddress_v2(const char* name, void** address, int version,
                             unsigned long long flags, CUdriverProcAddressQueryResult* status) {
  return query(name, address, version, flags, status);
}

/// Version 1 has no status, and returns CUDA_ERROR_NOT_FOUND instead: the documentation of CUDA
/// 11.7.
CUresult cuGetProcAddress(const char* name, void** address, int version, unsigned long long flags) {
  const CUresult result = query(name, address, version, flags, /*status=*/nullptr);
  return result == CUDA_SUCCESS && !*address ? CUDA_ERROR_NOT_FOUND : result;
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace sinter::virtual_gpu::driver
