#include "tests/virtual_gpu/execution/check_access.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace sinter::virtual_gpu {

namespace {

bool is_read(AccessKind kind) { return kind != AccessKind::write; }
bool is_write(AccessKind kind) { return kind == AccessKind::write || kind == AccessKind::atomic; }

void check_local(const Warp& warp, const Operation& operation, const Places& places, int bytes) {
  std::vector<bool>& initialized = warp.block->local_initialized;
  const AccessKind kind = details_of(operation).access;
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto first = static_cast<std::ptrdiff_t>(places[static_cast<std::size_t>(lane)].offset);
    const auto begin = initialized.begin() + first;
    if (is_write(kind))
      std::fill(begin, begin + bytes, true);
    else if (warp.block->launch->options->checks_initialization &&
             std::find(begin, begin + bytes, false) != begin + bytes)
      fail(warp, operation, lane, CheckKind::initialization,
           fmt::format("nothing wrote all of the {} bytes of local memory at offset {}", bytes,
                       first));
  }
}

/// The address of an offset in the shadow of the place, as the kernel sees it.
std::uint64_t address_at(const Place& place, std::uint64_t offset) {
  return place.is_shared ? kFirstAddress + offset : place.address + (offset - place.offset);
}

[[noreturn]] void fail_race(const Warp& warp, const Operation& operation, const Conflict& conflict,
                            const Place& place, std::uint64_t at) {
  const HappensBefore& order = *warp.block->launch->order;
  const ThreadPosition other = order.position_of(conflict.earlier);
  const ActiveLaunch& launch = *warp.block->launch;
  const std::string_view text = other.launch == launch.serial && conflict.earlier.line > 0
                                    ? line_of(launch.request.program->module, conflict.earlier.line)
                                    : std::string_view();
  const std::string problem = fmt::format(
      "race on {} address {:#x}: nothing orders it after the {} of {}, block {}, thread {}, line {}"
      "{}{}{}{}",
      place.is_shared ? "shared" : "global", at, conflict.earlier_is_write ? "write" : "read",
      order.name_of(other.launch), other.block, other.thread, conflict.earlier.line,
      text.empty() ? "" : " (", text, text.empty() ? "" : ")",
      conflict.breaks_read_only ? "; ld.global.nc needs memory that the launch never writes" : "");
  fail(warp, operation, static_cast<int>(conflict.thread % kLanes), CheckKind::race, problem);
}

/// True if the lanes access adjacent memory of one shadow, in their order.
bool is_row(const Warp& warp, const Places& places, int bytes) {
  const int first = std::countr_zero(warp.mask);
  const Place& origin = places[static_cast<std::size_t>(first)];
  const auto step = static_cast<std::uint64_t>(bytes);
  if (origin.offset < static_cast<std::uint64_t>(first) * step) return false;
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const Place& place = places[static_cast<std::size_t>(lane)];
    if (place.shadow != origin.shadow ||
        place.offset != origin.offset + static_cast<std::uint64_t>(lane - first) * step)
      return false;
  }
  return true;
}

void check_initialized(const Warp& warp, const Operation& operation, const Places& places,
                       int bytes) {
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const Place& place = places[static_cast<std::size_t>(lane)];
    const auto at =
        place.shadow->first_uninitialized(place.offset, static_cast<std::uint64_t>(bytes));
    if (at)
      fail(warp, operation, lane, CheckKind::initialization,
           fmt::format("nothing wrote the byte at {} address {:#x}, of {} bytes at {:#x}",
                       place.is_shared ? "shared" : "global", address_at(place, *at), bytes,
                       address_at(place, place.offset)));
  }
}

void check_races(const Warp& warp, const Operation& operation, const Places& places, int bytes) {
  HappensBefore& order = *warp.block->launch->order;
  const Details& details = details_of(operation);
  const int first = std::countr_zero(warp.mask);
  const Place& origin = places[static_cast<std::size_t>(first)];
  Access access{.kind = details.access,
                .is_strong = details.is_strong,
                .bytes = static_cast<std::uint64_t>(bytes),
                .line = operation.line};
  if (is_row(warp, places, bytes)) {
    access.offset = origin.offset - static_cast<std::uint64_t>(first * bytes);
    if (const auto conflict = origin.shadow->access_row(
            access, *warp.block->clock, static_cast<std::uint32_t>(warp.index * kLanes), warp.mask,
            order))
      fail_race(warp, operation, *conflict, origin, address_at(origin, conflict->offset));
    return;
  }
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const Place& place = places[static_cast<std::size_t>(lane)];
    access.offset = place.offset;
    if (const auto conflict = place.shadow->access(access, clock_of(warp, lane), order))
      fail_race(warp, operation, *conflict, place, address_at(place, conflict->offset));
  }
}

/// The sum over the distinct values of `value >> shift`.
std::uint64_t distinct(std::array<std::uint64_t, kLanes>& values, int count) {
  std::sort(values.begin(), values.begin() + count);
  return static_cast<std::uint64_t>(std::unique(values.begin(), values.begin() + count) -
                                    values.begin());
}

}  // namespace

void check_access(const Warp& warp, const Operation& operation, const Places& places, int bytes) {
  const GpuOptions& options = *warp.block->launch->options;
  const AccessKind kind = details_of(operation).access;
  const Place& first = places[static_cast<std::size_t>(std::countr_zero(warp.mask))];
  if (!first.shadow) return check_local(warp, operation, places, bytes);
  if (options.checks_initialization && is_read(kind))
    check_initialized(warp, operation, places, bytes);
  if (options.checks_races) return check_races(warp, operation, places, bytes);
  if (!options.checks_initialization || !is_write(kind)) return;
  for (Mask rest = warp.mask; rest; rest &= rest - 1) {
    const Place& place = places[static_cast<std::size_t>(std::countr_zero(rest))];
    place.shadow->mark_initialized(place.offset, static_cast<std::uint64_t>(bytes));
  }
}

/// The end of a block is like a write of its shared memory, after all accesses of its own threads.
void check_end_of_block(const Warp& warp, const Operation& operation) {
  Block& block = *warp.block;
  const ActiveLaunch& launch = *block.launch;
  if (block.cluster->blocks.size() == 1 || block.shared.empty() || !launch.options->checks_races)
    return;
  launch.order->block_barrier(*block.clock);
  const Access end = {
      .kind = AccessKind::write, .bytes = block.shared.size(), .line = operation.line};
  const auto conflict = block.shared_shadow.access(end, clock_of(warp, 0), *launch.order);
  if (!conflict) return;
  const ThreadPosition other = launch.order->position_of(conflict->earlier);
  fail(warp, operation, 0, CheckKind::race,
       fmt::format("the block ends, but nothing orders its end after the {} of its shared address "
                   "{:#x} by block {}, thread {}, line {} ({})",
                   conflict->earlier_is_write ? "write" : "read", kFirstAddress + conflict->offset,
                   other.block, other.thread, conflict->earlier.line,
                   line_of(launch.request.program->module, conflict->earlier.line)));
}

/// Sectors have 32 bytes. Shared memory has 32 banks of 4 bytes, and a wavefront serves one word of
/// each bank. A request of more than 128 bytes takes its lanes in groups. Source: CUDA C++ Best
/// Practices Guide, "Shared Memory and Memory Banks".
void count_access(const Warp& warp, const Operation& operation, const Places& places, int bytes) {
  LaunchCounts& counts = warp.block->launch->counts;
  const AccessKind kind = details_of(operation).access;
  const Place& first = places[static_cast<std::size_t>(std::countr_zero(warp.mask))];
  const auto lanes = static_cast<std::uint64_t>(std::popcount(warp.mask));
  if (!first.shadow) {
    counts.local_accesses += lanes;
    return;
  }
  if (kind == AccessKind::atomic) counts.atomics += lanes;
  MemoryCounts& memory =
      first.is_shared ? (kind == AccessKind::write ? counts.shared_stores : counts.shared_loads)
                      : (kind == AccessKind::write ? counts.global_stores : counts.global_loads);
  ++memory.requests;
  memory.bytes += lanes * static_cast<std::uint64_t>(bytes);
  std::array<std::uint64_t, kLanes> units;
  if (!first.is_shared) {
    int count = 0;
    for (Mask rest = warp.mask; rest; rest &= rest - 1)
      units[static_cast<std::size_t>(count++)] =
          places[static_cast<std::size_t>(std::countr_zero(rest))].address / 32;
    memory.transactions += distinct(units, count);
    return;
  }
  const int group = std::min(kLanes, 128 / bytes);
  for (int begin = 0; begin < kLanes; begin += group) {
    std::array<std::uint64_t, kLanes * 4> words;
    std::size_t count = 0;
    for (int lane = begin; lane < begin + group; ++lane)
      if ((warp.mask >> lane) & 1)
        for (int byte = 0; byte < bytes; byte += 4)
          words[count++] =
              (places[static_cast<std::size_t>(lane)].offset + static_cast<std::uint64_t>(byte)) /
              4;
    std::sort(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count));
    const auto end = std::unique(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count));
    std::array<int, 32> in_bank = {};
    for (auto word = words.begin(); word != end; ++word) ++in_bank[*word % 32];
    memory.transactions += static_cast<std::uint64_t>(*std::ranges::max_element(in_bank));
  }
}

}  // namespace sinter::virtual_gpu
