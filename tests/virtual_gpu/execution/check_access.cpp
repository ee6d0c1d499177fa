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

/// Lanes in ascending order that access adjacent bytes of one shadow, or all the same bytes.
struct Run {
  int first = 0;  ///< lane
  Mask lanes = 0;
  bool is_row = false;
};

Run run_from(int first, Mask lanes, const Places& places, int bytes) {
  const Place& origin = places[static_cast<std::size_t>(first)];
  Run run{.first = first, .lanes = Mask{1} << first};
  int last = first;
  std::uint64_t step = 0;
  for (Mask rest = lanes & ~run.lanes; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const Place& place = places[static_cast<std::size_t>(lane)];
    if (place.shadow != origin.shadow) break;
    const std::uint64_t distance = place.offset - places[static_cast<std::size_t>(last)].offset;
    if (last == first) {
      step = distance;
      if (step != 0 &&
          step != static_cast<std::uint64_t>(lane - first) * static_cast<unsigned>(bytes))
        break;
      run.is_row = step != 0;
    } else if (distance !=
               (run.is_row ? static_cast<std::uint64_t>(lane - last) * static_cast<unsigned>(bytes)
                           : 0)) {
      break;
    }
    run.lanes |= Mask{1} << lane;
    last = lane;
  }
  return run;
}

/// Calls `visit(run, place)` for the runs of the active lanes, with the place of the first lane.
template <class Visit>
void for_each_run(const Warp& warp, const Places& places, int bytes, Visit visit) {
  for (Mask rest = warp.mask; rest;) {
    const int first = std::countr_zero(rest);
    const Run run = run_from(first, rest, places, bytes);
    visit(run, places[static_cast<std::size_t>(first)]);
    rest &= ~run.lanes;
  }
}

[[noreturn]] void fail_uninitialized(const Warp& warp, const Operation& operation, int lane,
                                     const Place& place, std::uint64_t at, int bytes) {
  fail(warp, operation, lane, CheckKind::initialization,
       fmt::format("nothing wrote the byte at {} address {:#x}, of {} bytes at {:#x}",
                   place.is_shared ? "shared" : "global", address_at(place, at), bytes,
                   address_at(place, place.offset)));
}

void check_initialized(const Warp& warp, const Operation& operation, const Places& places,
                       int bytes) {
  for_each_run(warp, places, bytes, [&](const Run& run, const Place& origin) {
    const auto step = static_cast<std::uint64_t>(bytes);
    const int lanes = run.is_row ? kLanes - std::countl_zero(run.lanes) - run.first : 1;
    const std::uint64_t all = static_cast<std::uint64_t>(lanes) * step;
    if (!origin.shadow->first_uninitialized(origin.offset, all)) return;
    // Bytes of inactive lanes between the others do not count.
    for (Mask rest = run.lanes; rest; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const Place& place = places[static_cast<std::size_t>(lane)];
      if (const auto at = place.shadow->first_uninitialized(place.offset, step))
        fail_uninitialized(warp, operation, lane, place, *at, bytes);
    }
  });
}

void check_races(const Warp& warp, const Operation& operation, const Places& places, int bytes) {
  HappensBefore& order = *warp.block->launch->order;
  const Details& details = details_of(operation);
  const BlockClock& block = *warp.block->clock;
  const auto first_thread = static_cast<std::uint32_t>(warp.index * kLanes);
  Access access{.kind = details.access,
                .is_strong = details.is_strong,
                .bytes = static_cast<std::uint64_t>(bytes),
                .line = operation.line};
  for_each_run(warp, places, bytes, [&](const Run& run, const Place& origin) {
    access.offset = origin.offset;
    // A row begins at lane 0, even if this lane is inactive and its bytes do not exist.
    if (run.is_row) access.offset -= static_cast<std::uint64_t>(run.first) * access.bytes;
    const auto conflict =
        run.is_row ? origin.shadow->access_row(access, block, first_thread, run.lanes, order)
                   : origin.shadow->access_common(access, block, first_thread, run.lanes, order);
    if (conflict)
      fail_race(warp, operation, *conflict, origin, address_at(origin, conflict->offset));
  });
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
