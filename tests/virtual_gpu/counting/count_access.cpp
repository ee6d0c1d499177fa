#include "tests/virtual_gpu/counting/count_access.h"

#include <algorithm>
#include <bit>

namespace sinter::virtual_gpu {

namespace {

constexpr std::uint64_t kSectorBytes = 32;
constexpr std::uint64_t kBanks = 32;
constexpr int kBankBytes = 4;
constexpr int kWavefrontBytes = 128;

/// Sorts the first `count` values and returns how many are distinct.
template <std::size_t N>
std::size_t sort_distinct(std::array<std::uint64_t, N>& values, std::size_t count) {
  const auto end = values.begin() + static_cast<std::ptrdiff_t>(count);
  std::sort(values.begin(), end);
  return static_cast<std::size_t>(std::unique(values.begin(), end) - values.begin());
}

/// True if each active lane accesses the bytes behind those of the active lane before it.
bool is_contiguous(const Warp& warp, const Places& places, std::uint64_t bytes) {
  const Place* previous = nullptr;
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const Place& place = places[static_cast<std::size_t>(std::countr_zero(rest))];
    if (previous && (place.shadow != previous->shadow || place.offset != previous->offset + bytes))
      return false;
    previous = &place;
  }
  return true;
}

/// Accesses are aligned and have at most 16 bytes, so each is in one sector.
void count_global(const Warp& warp, const Places& places, std::uint64_t bytes, MemoryCounts& memory,
                  ByteSet& touched) {
  const Place& first = places[static_cast<std::size_t>(std::countr_zero(warp.mask))];
  const auto lanes = static_cast<std::uint64_t>(std::popcount(warp.mask));
  if (is_contiguous(warp, places, bytes)) {
    const std::uint64_t all = lanes * bytes;
    memory.transactions +=
        (first.address + all - 1) / kSectorBytes - first.address / kSectorBytes + 1;
    memory.fewest += (all + kSectorBytes - 1) / kSectorBytes;
    touched.add(first.shadow, first.offset, all);
    return;
  }
  std::array<std::uint64_t, kLanes> starts, sectors;
  std::size_t count = 0;
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const Place& place = places[static_cast<std::size_t>(std::countr_zero(rest))];
    touched.add(place.shadow, place.offset, bytes);
    starts[count] = place.address;
    sectors[count++] = place.address / kSectorBytes;
  }
  memory.transactions += sort_distinct(sectors, count);
  memory.fewest += (sort_distinct(starts, count) * bytes + kSectorBytes - 1) / kSectorBytes;
}

/// Shared memory has 32 banks of 4 bytes, and a wavefront serves one word of each bank. A request
/// of 8 bytes per lane is served by half warps, one of 16 bytes by quarter warps. Source: CUDA C++
/// Programming Guide, sections "Shared Memory" of the compute capabilities.
void count_shared(const Warp& warp, const Places& places, int bytes, MemoryCounts& memory) {
  const int group = std::min(kLanes, kWavefrontBytes / bytes);
  for (int begin = 0; begin < kLanes; begin += group) {
    std::array<std::uint64_t, kLanes> words;  // at most 128 bytes
    std::size_t count = 0;
    for (int lane = begin; lane < begin + group; ++lane)
      if ((warp.mask >> lane) & 1)
        for (int byte = 0; byte < bytes; byte += kBankBytes)
          words[count++] =
              (places[static_cast<std::size_t>(lane)].offset + static_cast<std::uint64_t>(byte)) /
              kBankBytes;
    if (count == 0) continue;
    const std::size_t distinct = sort_distinct(words, count);
    std::array<std::uint64_t, kBanks> in_bank = {};
    for (std::size_t i = 0; i < distinct; ++i) ++in_bank[words[i] % kBanks];
    memory.transactions += *std::ranges::max_element(in_bank);
    ++memory.fewest;
  }
}

}  // namespace

void count_access(const Warp& warp, const Operation& operation, const Places& places, int bytes) {
  ActiveLaunch& launch = *warp.block->launch;
  LaunchCounts& counts = launch.counts;
  const AccessKind kind = details_of(operation).access;
  const Place& first = places[static_cast<std::size_t>(std::countr_zero(warp.mask))];
  const auto lanes = static_cast<std::uint64_t>(std::popcount(warp.mask));
  if (!first.shadow) {
    counts.local_accesses += lanes;
    return;
  }
  if (kind == AccessKind::atomic) {
    counts.atomics += lanes;
    return;
  }
  const bool is_store = kind == AccessKind::write;
  MemoryCounts& memory = first.is_shared ? (is_store ? counts.shared_stores : counts.shared_loads)
                                         : (is_store ? counts.global_stores : counts.global_loads);
  ++memory.requests;
  memory.bytes += lanes * static_cast<std::uint64_t>(bytes);
  if (first.is_shared)
    count_shared(warp, places, bytes, memory);
  else
    count_global(warp, places, static_cast<std::uint64_t>(bytes), memory,
                 is_store ? launch.stored : launch.loaded);
}

}  // namespace sinter::virtual_gpu
