#include "runtime/device/gpu_target.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/target/gpu_constants.h"
#include "runtime/device/launch_grid.h"
#include "runtime/device/nearest_target.h"

namespace sinter {

namespace {

int attribute(const Driver& driver, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  check(driver, driver.cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute",
        [&] { return fmt::format("attribute {} of device {}", static_cast<int>(which), device); });
  return value;
}

/// An attribute that some drivers do not know, or report as 0.
int attribute_or_0(const DeviceState& device, CUdevice_attribute which) {
  int value = 0;
  const CUresult result = device.driver.cuDeviceGetAttribute(&value, which, device.handle);
  return result == CUDA_SUCCESS ? value : 0;
}

/// The bandwidth that long streams reach, by the memory's clock and width; `otherwise` if the
/// driver does not report them.
double bandwidth_of(const DeviceState& device, double otherwise) {
  constexpr double kTransfersPerClock = 2;
  constexpr double kLeast = 1e10;  // bytes per second; no GPU has less
  const double kilohertz = attribute_or_0(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  const double bits = attribute_or_0(device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  const double peak = kTransfersPerClock * 1000 * kilohertz * bits / 8;
  return peak < kLeast ? otherwise : reached_of_peak(peak);
}

/// The share of a named GPU's bandwidth that the device has. A MIG instance has some of the GPU's
/// memory slices. Each has its part of L2 and of the bandwidth (MIG User Guide, "Concepts").
double share_of_bandwidth(const DeviceState& device, std::int64_t l2_bytes,
                          std::int64_t whole_l2_bytes) {
  const bool is_instance = device.name.find(" MIG ") != std::string::npos;
  if (!is_instance || l2_bytes <= 0 || l2_bytes >= whole_l2_bytes) return 1;
  return static_cast<double>(l2_bytes) / static_cast<double>(whole_l2_bytes);
}

/// A kernel that does nothing. As PTX, it suits every GPU with clusters.
constexpr const char* kEmptyKernel =
    ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry sinter_empty() { ret; }\n";

/// Asks the driver how many clusters of `cluster` blocks run at once. Each block takes the shared
/// memory of an SM, so that it is alone there.
int active_clusters(const DeviceState& device, CUfunction function, int cluster,
                    std::int64_t shared_bytes) {
  const Source source{.entry = "sinter_empty",
                      .text = {},
                      .threads = kWarp,
                      .shared_bytes = shared_bytes,
                      .cluster = cluster};
  LaunchAttributes attributes = node_attributes(source);
  const CUlaunchConfig config = launch_config(source, cluster, attributes);
  int clusters = 0;
  const CUresult result = device.driver.cuOccupancyMaxActiveClusters(&clusters, function, &config);
  if (result == CUDA_ERROR_INVALID_CLUSTER_SIZE) return 0;
  return result == CUDA_SUCCESS ? clusters : kUnknownClusters;
}

/// Fills Target::active_clusters. The numbers are unknown if a call fails: planning then uses an
/// estimate.
void ask_for_clusters(const DeviceState& device, Target& target) {
  const Driver& driver = device.driver;
  target.active_clusters.fill(kUnknownClusters);
  if (!driver.cuOccupancyMaxActiveClusters) return;
  const CurrentContext current(device);
  CUmodule module = nullptr;
  if (driver.cuModuleLoadData(&module, kEmptyKernel) != CUDA_SUCCESS) return;
  CUfunction function = nullptr;
  if (driver.cuModuleGetFunction(&function, module, "sinter_empty") == CUDA_SUCCESS &&
      driver.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                static_cast<int>(target.shared_per_block_opt_in)) == CUDA_SUCCESS) {
    driver.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    int cluster = 2;
    for (int& clusters : target.active_clusters) {
      clusters = active_clusters(device, function, cluster, target.shared_per_block_opt_in);
      cluster *= 2;
    }
  }
  driver.cuModuleUnload(module);
}

/// A GPU before compute capability 9.0 has no clusters, and later ones may have none. A partition
/// of a GPU may have too few SMs for the portable cluster size.
void set_clusters(const DeviceState& device, Target& target) {
  target.max_cluster = 1;
  if (target.compute_capability < 90 ||
      attribute_or_0(device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) == 0)
    return;
  target.max_cluster = kPortableCluster;
  ask_for_clusters(device, target);
  while (target.max_cluster > 1 && clusters_at_once(target, target.max_cluster) == 0)
    target.max_cluster /= 2;
}

}  // namespace

int compute_capability(const Driver& driver, CUdevice device) {
  return attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
         attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

Target gpu_target(const DeviceState& device) {
  const auto value = [&](CUdevice_attribute which) {
    return attribute(device.driver, device.handle, which);
  };
  const NearestTarget nearest = nearest_target(device.name, device.arch);
  Target target = *nearest.target;
  target.name = device.name;
  target.arch = device.arch;
  target.compute_capability = compute_capability(device.driver, device.handle);
  target.sm_count = value(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  target.registers_per_sm = value(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  target.max_threads_per_sm = value(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  target.max_blocks_per_sm = value(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  target.shared_per_sm = value(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  target.shared_per_block_opt_in = value(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  target.l2_bytes = value(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  // The bandwidth of a GPU with a name is from its data sheet, or measured.
  target.bandwidth =
      nearest.is_named
          ? target.bandwidth * share_of_bandwidth(device, target.l2_bytes, nearest.target->l2_bytes)
          : bandwidth_of(device, target.bandwidth);
  set_clusters(device, target);
  return target;
}

}  // namespace sinter
