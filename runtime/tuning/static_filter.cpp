#include "runtime/tuning/static_filter.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/shape/extent.h"
#include "runtime/cache/kernel_cache.h"

namespace sinter {

namespace {

// Fewer threads may do if each has several loads in flight, but at least 1/8 of the default's.
constexpr int kThreadsRatio = 8;
// If loads in flight are counted, less than 1/4 of the default's bytes is too little …
constexpr int kBytesRatio = 4;
// … unless it is at least 1/2 of the bytes in flight that full bandwidth needs.
constexpr int kFullBandwidthRatio = 2;

}  // namespace

std::optional<StaticEstimate> static_estimate(const Target& target, const TuneRequest& request,
                                              std::size_t candidate) {
  const CompiledFunction& function = request.unit.functions[candidate];
  StaticEstimate estimate{.spill_bytes = function.spill_bytes};
  int registers = function.registers;
  std::int64_t in_flight = 0;  // per thread
  // The host device has no registers, and no cubin is known if the driver compiles PTX.
  if (candidate < request.unit.cubins.size() && request.unit.cubins[candidate].registers > 0) {
    const CubinReport& cubin = request.unit.cubins[candidate];
    estimate.spill_bytes = cubin.spill_bytes;
    registers = cubin.registers;
    in_flight = cubin.bytes_in_flight;
  }
  const Source& source = request.sources[candidate];
  const std::int64_t grid = evaluate(source.grid, request.symbols);
  if (registers == 0 || grid == 0 || target.sm_count == 0) return std::nullopt;
  // Of the whole device, because few blocks may be on more SMs than the default's.
  const std::int64_t fit = blocks_per_sm(target, source.threads, registers, source.shared_bytes);
  const std::int64_t blocks = std::min(grid, fit * target.sm_count);
  const std::int64_t bytes_read = evaluate(source.traffic.bytes_read, request.symbols);
  estimate.threads = blocks * source.threads;
  const std::int64_t per_block = std::max(in_flight * source.threads, source.copied_ahead);
  estimate.bytes_in_flight = blocks * std::min(per_block, bytes_read / grid);
  estimate.bytes = bytes_read + evaluate(source.traffic.bytes_written, request.symbols);
  return estimate;
}

std::string skip_reason(const StaticEstimate& candidate, const StaticEstimate& standard,
                        const Target& target) {
  if (candidate.spill_bytes > standard.spill_bytes)
    return fmt::format("not measured: it spills {} bytes per thread, the default {}",
                       candidate.spill_bytes, standard.spill_bytes);
  // A candidate that moves fewer bytes may win even if it takes longer per byte.
  if (candidate.bytes < standard.bytes) return {};
  const std::int64_t full_speed = target.bytes_in_flight * target.sm_count;
  if (candidate.bytes_in_flight > 0 && standard.bytes_in_flight > 0) {
    if (candidate.bytes_in_flight * kBytesRatio < standard.bytes_in_flight &&
        candidate.bytes_in_flight * kFullBandwidthRatio < full_speed)
      return fmt::format(
          "not measured: it has {} KiB of loads in flight, the default {}; full bandwidth "
          "needs "
          "{}",
          candidate.bytes_in_flight >> 10, standard.bytes_in_flight >> 10, full_speed >> 10);
  } else if (candidate.threads * kThreadsRatio < standard.threads) {
    return fmt::format("not measured: it has {} resident threads on the device, the default {}",
                       candidate.threads, standard.threads);
  }
  return {};
}

}  // namespace sinter
