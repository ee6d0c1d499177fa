// VirtualDriver: a fresh copy of the driver double, for a test with its own variables.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/driver/cuda_driver.h"

namespace sinter::virtual_gpu::driver {

/// The driver reads its variables once and keeps its state until the process ends. Each instance
/// loads another copy of the library's file, so tests in one process do not affect one another.
class VirtualDriver {
 public:
  using Variable = std::pair<const char*, const char*>;

  explicit VirtualDriver(std::initializer_list<Variable> variables = {}) {
    for (const char* const name :
         {"VIRTUAL_GPUS", "VIRTUAL_GPU_DRIVER", "VIRTUAL_GPU_SCHEDULE", "VIRTUAL_GPU_SEED",
          "VIRTUAL_GPU_FAULT", "VIRTUAL_GPU_COUNTS", "VIRTUAL_GPU_APPROXIMATIONS",
          "VIRTUAL_GPU_EARLY_STARTS", "VIRTUAL_GPU_REMOVE", "VIRTUAL_GPU_EXAMINE",
          "VIRTUAL_GPU_PTX", "VIRTUAL_GPU_ON_DEMAND"})
      unsetenv(name);
    for (const auto& [name, value] : variables) setenv(name, value, /*overwrite=*/1);
    static int copies = 0;
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() /
        ("libcuda_" + std::to_string(getpid()) + "_" + std::to_string(copies++) + ".so.1");
    std::filesystem::copy_file(VIRTUAL_GPU_DRIVER_LIBRARY, path,
                               std::filesystem::copy_options::overwrite_existing);
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    opened_ = open_cuda_driver(path.string());
    std::filesystem::remove(path);
  }

  /// The functions that sinter uses. Throws if the driver does not start; reason() says why.
  const Driver* operator->() const {
    if (!opened_.driver) throw std::runtime_error(opened_.reason);
    return opened_.driver;
  }
  const std::string& reason() const { return opened_.reason; }

  /// Another function, by the symbol that the library exports.
  template <class Function>
  Function* find(const char* exported) const {
    return reinterpret_cast<Function*>(dlsym(library_, exported));
  }

  void* address(const char* exported) const { return dlsym(library_, exported); }

  /// Makes the context of a device current.
  CUcontext use(CUdevice device = 0) const {
    CUcontext context = nullptr;
    EXPECT_EQ((*this)->cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    EXPECT_EQ((*this)->cuCtxSetCurrent(context), CUDA_SUCCESS);
    return context;
  }
  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING) const {
    CUstream stream = nullptr;
    EXPECT_EQ((*this)->cuStreamCreate(&stream, flags), CUDA_SUCCESS);
    return stream;
  }
  CUevent event(unsigned flags = CU_EVENT_DEFAULT) const {
    CUevent event = nullptr;
    EXPECT_EQ((*this)->cuEventCreate(&event, flags), CUDA_SUCCESS);
    return event;
  }
  CUdeviceptr memory(std::size_t bytes) const {
    CUdeviceptr pointer = 0;
    EXPECT_EQ((*this)->cuMemAlloc(&pointer, bytes), CUDA_SUCCESS);
    return pointer;
  }
  /// The words of device memory, after all work of the context.
  std::vector<unsigned> words(CUdeviceptr from, std::size_t count) const {
    std::vector<unsigned> values(count);
    EXPECT_EQ((*this)->cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ((*this)->cuMemcpyDtoHAsync(values.data(), from, count * 4, nullptr), CUDA_SUCCESS);
    EXPECT_EQ((*this)->cuCtxSynchronize(), CUDA_SUCCESS);
    return values;
  }

 private:
  void* library_ = nullptr;
  CudaDriver opened_;
};

/// All schedules of the executor.
inline constexpr const char* kSchedules[] = {"fair", "random", "adversarial"};

}  // namespace sinter::virtual_gpu::driver
