// A driver that reports GPUs. It accepts every image and launch, and runs nothing.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "runtime/device/device_state.h"
#include "tests/support/doubles/null_driver.h"

namespace sinter::test {

/// The images that were loaded, as text, up to the first zero.
inline std::vector<std::string>& loaded_images() {
  static std::vector<std::string> images;
  return images;
}

template <int capability, int shared_bytes>
CUresult attribute_of(int* value, CUdevice_attribute which, CUdevice) {
  *value = 16;
  if (which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) *value = capability / 10;
  if (which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) *value = capability % 10;
  if (which == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) *value = shared_bytes;
  return CUDA_SUCCESS;
}

inline CUresult load_image(CUmodule* module, const void* image) {
  loaded_images().emplace_back(static_cast<const char*>(image));
  return give_handle(module, image);
}

inline constexpr char kUnnamed[] = "a GPU";

template <const char* called>
CUresult name_device(char* name, int bytes, CUdevice) {
  std::snprintf(name, static_cast<std::size_t>(bytes), "%s", called);
  return CUDA_SUCCESS;
}

/// A GPU of compute capability `capability`: 86 for sm_86.
template <int capability, int shared_bytes = 101376, int blocks_that_fit = 2,
          const char* called = kUnnamed>
Device fake_gpu() {
  static const Driver driver = [] {
    Driver table = null_driver();
    table.cuDeviceGetAttribute = attribute_of<capability, shared_bytes>;
    table.cuDeviceGetName = name_device<called>;
    table.cuModuleLoadData = load_image;
    // Optional. Without it, opening a device loads no image to ask for the number of clusters.
    table.cuOccupancyMaxActiveClusters = nullptr;
    table.cuModuleGetFunction = give_handle<CUfunction, CUmodule, const char*>;
    table.cuOccupancyMaxActiveBlocksPerMultiprocessor = [](int* blocks, CUfunction, int,
                                                           std::size_t) {
      *blocks = blocks_that_fit;
      return CUDA_SUCCESS;
    };
    return table;
  }();
  static auto& state = *new DeviceState(driver, 0);
  return Device(&state);
}

}  // namespace sinter::test
