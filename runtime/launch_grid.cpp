#include "runtime/launch_grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/extent.h"
#include "sinter/error.h"

namespace sinter {

std::int64_t resident_blocks(const DeviceState& device, const Source& source, CUfunction function) {
  if (!source.is_cooperative) return 0;
  const CurrentContext current(device);
  const Driver& driver = device.driver;
  const auto context = [&] { return "the blocks of kernel " + source.entry; };
  int blocks_per_sm = 0;
  check(
      driver,
      driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks_per_sm, function, source.threads, static_cast<std::size_t>(source.shared_bytes)),
      "cuOccupancyMaxActiveBlocksPerMultiprocessor", context);
  int sm_count = 0;
  check(driver,
        driver.cuDeviceGetAttribute(&sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                    device.handle),
        "cuDeviceGetAttribute", context);
  ensure(blocks_per_sm > 0 && sm_count > 0,
         fmt::format("kernel {}: a block of {} threads and {} bytes of shared memory does not fit "
                     "on {}",
                     source.entry, source.threads, source.shared_bytes, device.name));
  return std::int64_t{blocks_per_sm} * sm_count;
}

std::int64_t launched_blocks(const Source& source, std::int64_t resident,
                             std::span<const std::int64_t> symbols) {
  const std::int64_t blocks = evaluate(source.grid, symbols);
  return resident > 0 ? std::min(blocks, resident) : blocks;
}

CUlaunchAttribute cooperative_attribute() {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  return attribute;
}

CUlaunchAttribute early_start_attribute() {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  return attribute;
}

}  // namespace sinter
