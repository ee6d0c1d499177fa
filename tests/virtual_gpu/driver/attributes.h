// The GPUs that the virtual driver can describe, and their device attributes.
#pragma once

#include <cstdint>
#include <optional>

#include "tests/virtual_gpu/driver/configuration.h"

namespace sinter::virtual_gpu::driver {

/// A real GPU of each architecture. Figures are from NVIDIA's data sheets and from the table
/// "Technical Specifications per Compute Capability" of the CUDA Programming Guide.
struct GpuModel {
  int capability = 0;
  const char* name = "";
  int sm_count = 0;
  int threads_per_sm = 0;
  int blocks_per_sm = 0;
  int shared_per_sm = 0;
  int shared_per_block = 0;  ///< opt-in maximum
  int l2_bytes = 0;
  int clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
  int memory_gib = 0;
  int sms_per_gpc = 0;
  bool is_integrated = false;
};

/// Null if there is no GPU of this compute capability in the table.
const GpuModel* find_model(int capability);

/// The limits of a described device.
GpuLimits limits_of(const DeviceDescription& device);
/// The bytes of its memory.
std::uint64_t memory_of(const DeviceDescription& device);

/// The value of a CUdevice_attribute; nullopt for one that is not modelled.
std::optional<int> device_attribute(const DeviceDescription& device, int ordinal,
                                    unsigned attribute);

}  // namespace sinter::virtual_gpu::driver
