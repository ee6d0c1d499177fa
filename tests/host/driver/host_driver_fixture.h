// Fixture of the host driver tests: a current context, memory, kernels and launches.
#pragma once

#include "codegen/prelude/prelude.h"
#include "runtime/compile/host_compiler.h"
#include "runtime/driver/driver.h"
#include "runtime/driver/host/execution/memory.h"
#include "runtime/driver/host/host_driver.h"
#include "runtime/driver/host/state.h"
#include "runtime/driver/host/stream_scheduler.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sinter {

class HostDriverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    use_seed(0);
    check(driver, driver.cuInit(0), "cuInit", "a test");
    CUcontext context = nullptr;
    check(driver, driver.cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain",
          "a test");
    check(driver, driver.cuCtxSetCurrent(context), "cuCtxSetCurrent", "a test");
    host::reset_counters();
    kept_use_ = host::memory_use();
    for (const host::Allocation& allocation : host::accessible_allocations())
      kept_.insert(allocation.start);
  }
  /// Runs all work and frees the memory that the test allocated.
  void TearDown() override {
    host::clear_faults();
    host::clear_error();
    for (int device = 0; device < host::kDevices; ++device) host::scheduler().drain(device);
    host::clear_error();
    for (const host::Allocation& allocation : host::accessible_allocations())
      if (!kept_.contains(allocation.start)) host::free_memory(allocation.start);
  }

  void use_seed(std::uint64_t seed) { host::configure({.seed = seed}); }

  CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr pointer = 0;
    check(driver, driver.cuMemAlloc(&pointer, bytes), "cuMemAlloc", "a test");
    return pointer;
  }
  template <class T>
  CUdeviceptr upload(const std::vector<T>& values, CUstream stream = nullptr) {
    const CUdeviceptr pointer = allocate(values.size() * sizeof(T));
    check(driver,
          driver.cuMemcpyHtoDAsync(pointer, values.data(), values.size() * sizeof(T), stream),
          "cuMemcpyHtoDAsync", "a test");
    return pointer;
  }
  /// Synchronises the stream.
  template <class T>
  std::vector<T> download(CUdeviceptr pointer, std::size_t count, CUstream stream = nullptr) {
    std::vector<T> values(count);
    check(driver, driver.cuMemcpyDtoHAsync(values.data(), pointer, count * sizeof(T), stream),
          "cuMemcpyDtoHAsync", "a test");
    return values;
  }
  template <class T>
  T* pinned(std::size_t count) {
    void* pointer = nullptr;
    check(driver, driver.cuMemHostAlloc(&pointer, count * sizeof(T), 0), "cuMemHostAlloc",
          "a test");
    return static_cast<T*>(pointer);
  }
  CUstream new_stream() {
    CUstream stream = nullptr;
    check(driver, driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate",
          "a test");
    return stream;
  }
  CUevent new_event(unsigned flags = CU_EVENT_DEFAULT) {
    CUevent event = nullptr;
    check(driver, driver.cuEventCreate(&event, flags), "cuEventCreate", "a test");
    return event;
  }

  CUmodule load(const HostKernel& kernel, bool count = false) {
    static const HostCompiler compiler;
    const HostImage image =
        compiler.compile(prelude_text(Prelude::host), std::vector{kernel}, {.count = count});
    CUmodule module = nullptr;
    check(driver, driver.cuModuleLoadData(&module, image.image.data()), "cuModuleLoadData",
          "a test");
    return module;
  }
  CUfunction function(const HostKernel& kernel, bool count = false) {
    CUfunction result = nullptr;
    check(driver, driver.cuModuleGetFunction(&result, load(kernel, count), kernel.entry.c_str()),
          "cuModuleGetFunction", "a test");
    return result;
  }

  struct Shape {
    unsigned blocks = 1, threads = 1, shared_bytes = 0;
    CUstream stream = nullptr;
  };
  template <class... Parameters>
  CUresult launch(CUfunction kernel, const Shape& shape, Parameters... parameters) {
    void* pointers[] = {&parameters..., nullptr};
    const CUlaunchConfig config{.gridDimX = shape.blocks,
                                .gridDimY = 1,
                                .gridDimZ = 1,
                                .blockDimX = shape.threads,
                                .blockDimY = 1,
                                .blockDimZ = 1,
                                .sharedMemBytes = shape.shared_bytes,
                                .hStream = shape.stream};
    return driver.cuLaunchKernelEx(&config, kernel, pointers, nullptr);
  }

  /// The memory in use from before the test, which other tests of the process keep.
  const host::MemoryUse& kept_use() const { return kept_use_; }

  const Driver& driver = host::host_driver();

 private:
  host::MemoryUse kept_use_;
  std::set<std::uintptr_t> kept_;  // memory from before the test
};

/// y[i] = x[i] + 1, one element per thread.
inline HostKernel increment_kernel() {
  return {.entry = "increment", .text = R"(
extern "C" __global__ void increment(const float* __restrict__ x, float* __restrict__ y,
                                     const int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  store(y, i, load(x, i) + 1.0f);
}
)"};
}

}  // namespace sinter
