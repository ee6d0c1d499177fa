#include "runtime/tuning/static_filter.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/shape/extent.h"
#include "runtime/cache/kernel_cache.h"

namespace sinter {

namespace {

// Threads that have several loads under way each can be fewer, but not that many fewer.
constexpr int kFewThreads = 8;
// Where loads under way are counted, less than such a part of what the default has is too little …
constexpr int kFewBytes = 4;
// … unless the memory is kept busy by half of what it takes for its full speed.
constexpr int kBusy = 2;

}  // namespace

std::optional<StaticFigures> static_figures(const Target& target, const TuneRequest& request,
                                            std::size_t candidate) {
  const CompiledFunction& function = request.unit.functions[candidate];
  StaticFigures figures{.spill_bytes = function.spill_bytes};
  int registers = function.registers;
  std::int64_t in_flight = 0;  // per thread
  // The host device has no registers of its own; where the driver compiles PTX, no cubin is known.
  if (candidate < request.unit.cubins.size() && request.unit.cubins[candidate].registers > 0) {
    const CubinReport& cubin = request.unit.cubins[candidate];
    figures.spill_bytes = cubin.spill_bytes;
    registers = cubin.registers;
    in_flight = cubin.bytes_in_flight;
  }
  const Source& source = request.sources[candidate];
  const std::int64_t grid = evaluate(source.grid, request.symbols);
  if (registers == 0 || grid == 0 || target.sm_count == 0) return std::nullopt;
  // Of the whole device, as blocks that are few may be on more SMs than those of the default.
  const std::int64_t fit = blocks_per_sm(target, source.threads, registers, source.shared_bytes);
  const std::int64_t blocks = std::min(grid, fit * target.sm_count);
  const std::int64_t bytes_read = evaluate(source.traffic.bytes_read, request.symbols);
  figures.threads = blocks * source.threads;
  figures.bytes_in_flight = blocks * std::min(in_flight * source.threads, bytes_read / grid);
  figures.bytes = bytes_read + evaluate(source.traffic.bytes_written, request.symbols);
  return figures;
}

std::string why_hopeless(const StaticFigures& candidate, const StaticFigures& standard,
                         const Target& target) {
  if (candidate.spill_bytes > standard.spill_bytes)
    return fmt::format("not measured: it spills {} bytes per thread, the default {}",
                       candidate.spill_bytes, standard.spill_bytes);
  // It may take longer for each byte and win by having fewer of them.
  if (candidate.bytes < standard.bytes) return {};
  const std::int64_t full_speed = target.bytes_in_flight * target.sm_count;
  if (candidate.bytes_in_flight > 0 && standard.bytes_in_flight > 0) {
    if (candidate.bytes_in_flight * kFewBytes < standard.bytes_in_flight &&
        candidate.bytes_in_flight * kBusy < full_speed)
      return fmt::format(
          "not measured: it has {} KiB of loads under way at once, the default {}; full speed "
          "takes "
          "{}",
          candidate.bytes_in_flight >> 10, standard.bytes_in_flight >> 10, full_speed >> 10);
  } else if (candidate.threads * kFewThreads < standard.threads) {
    return fmt::format("not measured: it has {} threads on the device at once, the default {}",
                       candidate.threads, standard.threads);
  }
  return {};
}

}  // namespace sinter
