#include "tests/virtual_gpu/driver/attributes.h"

#include <limits>

#include "tests/virtual_gpu/driver/result.h"

namespace sinter::virtual_gpu::driver {

namespace {

constexpr GpuModel kModels[] = {
    {75, "T4", 40, 1024, 16, 65536, 65536, 4 << 20, 1590000, 5001000, 256, 15, 8},
    {80, "A100", 108, 2048, 32, 167936, 166912, 40 << 20, 1410000, 1215000, 5120, 40, 16},
    {86, "A10", 72, 1536, 16, 102400, 101376, 6 << 20, 1695000, 6251000, 384, 22, 12},
    {87, "Orin", 16, 1536, 16, 167936, 166912, 4 << 20, 1300000, 3199000, 256, 30, 8, true},
    {88, "RTX of 8.8", 12, 1536, 16, 102400, 101376, 4 << 20, 1500000, 6000000, 128, 12, 12},
    {89, "L40S", 142, 1536, 24, 102400, 101376, 96 << 20, 2520000, 9001000, 384, 44, 12},
    {90, "H200", 132, 2048, 32, 233472, 232448, 60 << 20, 1980000, 3201000, 6144, 139, 16},
    {100, "B200", 148, 2048, 32, 233472, 232448, 126 << 20, 1965000, 3996000, 7680, 178, 16},
    {103, "B300", 148, 2048, 32, 233472, 232448, 126 << 20, 1965000, 3996000, 7680, 268, 16},
    {110, "Thor", 20, 1536, 24, 233472, 232448, 32 << 20, 1575000, 4266000, 256, 122, 8, true},
    {120, "RTX 5090", 170, 1536, 24, 102400, 101376, 96 << 20, 2407000, 14001000, 512, 31, 16},
    {121, "GB10", 48, 1536, 24, 102400, 101376, 24 << 20, 2418000, 4266000, 256, 119, 8, true},
};

constexpr int kRegistersPerSm = 65536;
/// The guard of the driver for each block of shared memory, from compute capability 8.0 on.
constexpr int kReservedSharedBytes = 1024;

int sm_count_of(const DeviceDescription& device, const GpuModel& model) {
  return device.sm_count > 0 ? device.sm_count : model.sm_count;
}

bool has_clusters(const DeviceDescription& device) {
  return device.capability >= 90 && !device.lacks_clusters;
}

}  // namespace

const GpuModel* find_model(int capability) {
  for (const GpuModel& model : kModels)
    if (model.capability == capability) return &model;
  return nullptr;
}

GpuLimits limits_of(const DeviceDescription& device) {
  const GpuModel& model = *find_model(device.capability);
  return {.compute_capability = model.capability,
          .sm_count = sm_count_of(device, model),
          .registers_per_sm = kRegistersPerSm,
          .threads_per_sm = model.threads_per_sm,
          .blocks_per_sm = model.blocks_per_sm,
          .shared_per_sm = model.shared_per_sm,
          .shared_per_block = model.shared_per_block,
          .has_clusters = has_clusters(device),
          .sms_per_gpc = model.sms_per_gpc};
}

std::uint64_t memory_of(const DeviceDescription& device) {
  if (device.memory_bytes > 0) return device.memory_bytes;
  return static_cast<std::uint64_t>(find_model(device.capability)->memory_gib) << 30;
}

std::optional<int> device_attribute(const DeviceDescription& device, int ordinal,
                                    unsigned attribute) {
  const GpuModel& model = *find_model(device.capability);
  switch (attribute) {
    case 1: return 1024;  // MAX_THREADS_PER_BLOCK
    case 2:
    case 3: return 1024;                             // MAX_BLOCK_DIM_X, _Y
    case 4: return 64;                               // MAX_BLOCK_DIM_Z
    case 5: return std::numeric_limits<int>::max();  // MAX_GRID_DIM_X
    case 6:
    case 7: return 65535;                          // MAX_GRID_DIM_Y, _Z
    case 8: return kDefaultSharedBytes;            // MAX_SHARED_MEMORY_PER_BLOCK
    case 9: return 65536;                          // TOTAL_CONSTANT_MEMORY
    case 10: return kLanes;                        // WARP_SIZE
    case 12: return kRegistersPerSm;               // MAX_REGISTERS_PER_BLOCK
    case 13: return model.clock_khz;               // CLOCK_RATE
    case 15: return 1;                             // GPU_OVERLAP
    case 16: return sm_count_of(device, model);    // MULTIPROCESSOR_COUNT
    case 17: return 0;                             // KERNEL_EXEC_TIMEOUT
    case 18: return model.is_integrated;           // INTEGRATED
    case 19: return 1;                             // CAN_MAP_HOST_MEMORY
    case 20: return 0;                             // COMPUTE_MODE: default
    case 31: return 1;                             // CONCURRENT_KERNELS
    case 32: return model.memory_bus_bits > 1024;  // ECC_ENABLED
    case 33: return ordinal + 1;                   // PCI_BUS_ID
    case 34: return 0;                             // PCI_DEVICE_ID
    case 35: return 0;                             // TCC_DRIVER
    case 36: return model.memory_clock_khz;        // MEMORY_CLOCK_RATE
    case 37: return model.memory_bus_bits;         // GLOBAL_MEMORY_BUS_WIDTH
    case 38: return device.l2_bytes > 0 ? device.l2_bytes : model.l2_bytes;  // L2_CACHE_SIZE
    case 39: return model.threads_per_sm;    // MAX_THREADS_PER_MULTIPROCESSOR
    case 40: return 2;                       // ASYNC_ENGINE_COUNT
    case 41: return 1;                       // UNIFIED_ADDRESSING
    case 50: return 0;                       // PCI_DOMAIN_ID
    case 75: return model.capability / 10;   // COMPUTE_CAPABILITY_MAJOR
    case 76: return model.capability % 10;   // COMPUTE_CAPABILITY_MINOR
    case 78: return 1;                       // STREAM_PRIORITIES_SUPPORTED
    case 81: return model.shared_per_sm;     // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
    case 82: return kRegistersPerSm;         // MAX_REGISTERS_PER_MULTIPROCESSOR
    case 83: return 0;                       // MANAGED_MEMORY
    case 88: return device.is_coherent;      // PAGEABLE_MEMORY_ACCESS
    case 89: return 0;                       // CONCURRENT_MANAGED_ACCESS
    case 91: return 1;                       // CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
    case 95: return 1;                       // COOPERATIVE_LAUNCH
    case 97: return model.shared_per_block;  // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    case 100: return device.is_coherent;     // PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES
    case 102: return 0;                      // VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    case 106: return model.blocks_per_sm;    // MAX_BLOCKS_PER_MULTIPROCESSOR
    case 111:                                // RESERVED_SHARED_MEMORY_PER_BLOCK
      return model.capability >= 80 ? kReservedSharedBytes : 0;
    case 115: return 1;                       // MEMORY_POOLS_SUPPORTED
    case 120: return has_clusters(device);    // CLUSTER_LAUNCH
    case 127: return model.capability >= 90;  // TENSOR_MAP_ACCESS_SUPPORTED
    case 132:
    case 133: return 0;   // MULTICAST_SUPPORTED, MPS_ENABLED
    case 134: return -1;  // HOST_NUMA_ID: none
    default: return std::nullopt;
  }
}

}  // namespace sinter::virtual_gpu::driver
