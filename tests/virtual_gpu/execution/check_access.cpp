#include "tests/virtual_gpu/execution/check_access.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "tests/virtual_gpu/execution/async/agent_text.h"

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
      "race on {} address {:#x}: nothing orders it after the {} of {}, {}, line {}"
      "{}{}{}{}",
      place.is_shared ? "shared" : "global", at, conflict.earlier_is_write ? "write" : "read",
      order.name_of(other.launch), text_of_thread(launch, other), conflict.earlier.line,
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

/// The runs of the active lanes.
struct Runs {
  Runs(const Warp& warp, const Places& places, int bytes) {
    for (Mask rest = warp.mask; rest; rest &= ~all[count++].lanes)
      all[count] = run_from(std::countr_zero(rest), rest, places, bytes);
  }
  const Run* begin() const { return all.data(); }
  const Run* end() const { return all.data() + count; }

  std::array<Run, kLanes> all;
  std::size_t count = 0;
};

[[noreturn]] void fail_uninitialized(const Warp& warp, const Operation& operation, int lane,
                                     const Place& place, std::uint64_t at, int bytes) {
  fail(warp, operation, lane, CheckKind::initialization,
       fmt::format("nothing wrote the byte at {} address {:#x}, of {} bytes at {:#x}",
                   place.is_shared ? "shared" : "global", address_at(place, at), bytes,
                   address_at(place, place.offset)));
}

void check_initialized(const Warp& warp, const Operation& operation, const Places& places,
                       const Runs& runs, int bytes) {
  for (const Run& run : runs) {
    const Place& origin = places[static_cast<std::size_t>(run.first)];
    const auto step = static_cast<std::uint64_t>(bytes);
    const int lanes = run.is_row ? kLanes - std::countl_zero(run.lanes) - run.first : 1;
    const std::uint64_t all = static_cast<std::uint64_t>(lanes) * step;
    if (!origin.shadow->first_uninitialized(origin.offset, all)) continue;
    // Bytes of inactive lanes between the others do not count.
    for (Mask rest = run.lanes; rest; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const Place& place = places[static_cast<std::size_t>(lane)];
      if (const auto at = place.shadow->first_uninitialized(place.offset, step))
        fail_uninitialized(warp, operation, lane, place, *at, bytes);
    }
  }
}

void check_races(const Warp& warp, const Operation& operation, const Places& places,
                 const Runs& runs, int bytes) {
  HappensBefore& order = *warp.block->launch->order;
  const Details& details = details_of(operation);
  const BlockClock& block = *warp.block->clock;
  const auto first_thread = static_cast<std::uint32_t>(warp.index * kLanes);
  Access access{.kind = details.access,
                .is_strong = details.is_strong,
                .bytes = static_cast<std::uint64_t>(bytes),
                .line = operation.line};
  for (const Run& run : runs) {
    const Place& origin = places[static_cast<std::size_t>(run.first)];
    access.offset = origin.offset;
    // A row begins at lane 0, even if this lane is inactive and its bytes do not exist.
    if (run.is_row) access.offset -= static_cast<std::uint64_t>(run.first) * access.bytes;
    const auto conflict =
        run.is_row ? origin.shadow->access_row(access, block, first_thread, run.lanes, order)
                   : origin.shadow->access_common(access, block, first_thread, run.lanes, order);
    if (conflict)
      fail_race(warp, operation, *conflict, origin, address_at(origin, conflict->offset));
  }
}

}  // namespace

void check_access(const Warp& warp, const Operation& operation, const Places& places, int bytes) {
  const GpuOptions& options = *warp.block->launch->options;
  const AccessKind kind = details_of(operation).access;
  const Place& first = places[static_cast<std::size_t>(std::countr_zero(warp.mask))];
  if (!first.shadow) return check_local(warp, operation, places, bytes);
  const Runs runs(warp, places, bytes);
  if (options.checks_initialization && is_read(kind))
    check_initialized(warp, operation, places, runs, bytes);
  if (options.checks_races) return check_races(warp, operation, places, runs, bytes);
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

}  // namespace sinter::virtual_gpu
