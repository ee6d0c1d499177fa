// Accesses: of whole warps as far as possible, else lane by lane.
#include <bit>

#include "tests/virtual_gpu/checks/shadow_page.h"

namespace sinter::virtual_gpu {

// ---- Pages ----

void Shadow::Page::refine_to(int finer_shift) {
  const std::uint64_t old_count = kShadowPageBytes >> shift;
  const std::uint64_t parts = std::uint64_t{1} << (shift - finer_shift);
  std::unique_ptr<Granule[]> finer(new Granule[old_count * parts]);
  for (std::uint64_t i = 0; i < old_count; ++i)
    std::fill_n(&finer[i * parts], parts, refined ? refined[i] : whole);
  refined = std::move(finer);
  shift = finer_shift;
  bytes_of_rows = 0;
}

void Shadow::Page::coarsen() {
  std::uint64_t count = kShadowPageBytes >> shift;
  const int old_shift = shift;
  const auto are_pairs_equal = [&] {
    for (std::uint64_t i = 0; i < count; i += 2)
      if (refined[i] != refined[i + 1]) return false;
    return true;
  };
  for (; count > 1 && are_pairs_equal(); ++shift) {
    count /= 2;
    for (std::uint64_t i = 0; i < count; ++i) refined[i] = refined[2 * i];
  }
  bytes_of_rows = 0;
  // A page that never gets coarser is compared less and less often.
  constexpr std::uint32_t kMaximum = 64 * kShadowPageBytes;
  if (shift == old_shift) {
    bytes_until_coarsening = std::min(kMaximum, 2 * bytes_until_coarsening);
    return;
  }
  bytes_until_coarsening = kShadowPageBytes;
  if (count == 1) {
    whole = refined[0];
    refined.reset();
    return;
  }
  std::unique_ptr<Granule[]> coarser(new Granule[count]);
  std::copy_n(refined.get(), count, coarser.get());
  refined = std::move(coarser);
}

namespace {

Conflict conflict_of(const GranuleConflict& found, const ThreadClock& thread,
                     std::uint64_t offset) {
  const PastAccess& past = found.earlier;
  const auto lane = static_cast<std::uint32_t>(std::countr_zero(found.lanes));
  return {.earlier = {.segment = past.segment,
                      .thread = past.warp * std::uint32_t{kLanes} + lane,
                      .time = past.time,
                      .line = past.line},
          .earlier_is_write = past.has(AccessFlags::kWrite),
          .breaks_read_only = found.breaks_read_only,
          .offset = offset,
          .thread = thread.thread};
}

bool is_weak(const Access& access) {
  return !access.is_strong && access.kind != AccessKind::atomic;
}

WarpAccess warp_access(const Access& access, const BlockClock& block, const WarpClock& clock,
                       std::uint32_t thread, Mask lanes) {
  return {.record = {.segment = clock.segment,
                     .lanes = lanes,
                     .time = clock.time,
                     .line = access.line,
                     .warp = static_cast<std::uint8_t>(thread / kLanes),
                     .flags = Granule::flags_of(access)},
          .block = &block,
          .clock = &clock,
          .ordered_below = block.threads[thread].ordered_below};
}

}  // namespace

/// The bytes of a page that exist.
inline std::uint64_t Shadow::limit_of(std::uint64_t index) const {
  return std::min(kShadowPageBytes, bytes_ - (index << kShadowPageShift));
}

// ---- Single threads ----

/// The part of an access in one page, with a look at the clocks of single threads. Marks written
/// bytes as initialised.
std::optional<Conflict> Shadow::access_page_alone(std::uint64_t index, std::uint64_t first,
                                                  std::uint64_t count, const Access& access,
                                                  const ThreadClock& thread, HappensBefore& order) {
  Page& page = this->page(index);
  std::span<Granule> granules = page.granules(first, count, limit_of(index));
  int finest = page.shift;
  for (const Granule& granule : granules) finest = std::min(finest, granule.finest_shift(order));
  if (finest < page.shift) {
    page.refine_to(finest);
    granules = page.granules(first, count, limit_of(index));
  }
  auto at = static_cast<int>(first);
  for (Granule& granule : granules) {
    if (const auto found = granule.compare_and_record(access, thread, order, at)) {
      const auto offset = static_cast<std::uint64_t>(at);
      if (access.kind >= AccessKind::write) page.initialize(first, offset - first);
      return conflict_of(*found, thread, (index << kShadowPageShift) + offset);
    }
    at += 1 << page.shift;
  }
  if (access.kind >= AccessKind::write) {
    page.initialize(first, count);
    if (is_weak(access) && granules.size() == kShadowPageBytes >> page.shift) page.unite();
  }
  return std::nullopt;
}

std::optional<Conflict> Shadow::access_alone(const Access& access, const ThreadClock& thread,
                                             HappensBefore& order) {
  std::optional<Conflict> conflict;
  for_each_page(access.offset, access.bytes,
                [&](std::uint64_t index, std::uint64_t first, std::uint64_t count) {
                  conflict = access_page_alone(index, first, count, access, thread, order);
                  return !conflict;
                });
  return conflict;
}

// ---- Warps ----

/// Records an access of a warp in one page, up to a granule that needs a look at single lanes.
/// Returns the number of bytes.
std::uint64_t Shadow::try_page(std::uint64_t index, std::uint64_t first, std::uint64_t count,
                               const WarpAccess& access, HappensBefore& order) {
  Page& page = this->page(index);
  const std::span<Granule> granules = page.granules(first, count, limit_of(index));
  const std::uint64_t size = std::uint64_t{1} << page.shift;
  std::uint64_t at = first;
  for (Granule& granule : granules) {
    if (!granule.try_warp(access, static_cast<int>(at), page.shift, order)) break;
    at += size;
  }
  const std::uint64_t done = std::min(at - first, count);
  if (access.record.has(AccessFlags::kWrite)) {
    page.initialize(first, done);
    if (!access.record.is_row() && done == count && granules.size() * size == kShadowPageBytes)
      page.unite();
  }
  page.note_rows(done);
  return done;
}

/// The same for a range. `row`: the offset of lane 0, if the access is a row.
std::uint64_t Shadow::try_range(std::uint64_t offset, std::uint64_t bytes, std::int64_t row,
                                WarpAccess& access, HappensBefore& order) {
  std::uint64_t result = 0;
  for_each_page(offset, bytes, [&](std::uint64_t index, std::uint64_t first, std::uint64_t count) {
    if (access.record.is_row())
      access.record.origin =
          static_cast<std::int16_t>(row - static_cast<std::int64_t>(index << kShadowPageShift));
    const std::uint64_t done = try_page(index, first, count, access, order);
    result += done;
    return done == count;
  });
  return result;
}

/// Threads with equal clocks, all at `access.offset`. A write has one thread.
std::optional<Conflict> Shadow::access_equal(const Access& access, const BlockClock& block,
                                             std::uint32_t first_thread, Mask lanes,
                                             const WarpClock& clock, HappensBefore& order) {
  std::uint64_t done = 0;
  if (is_weak(access)) {
    WarpAccess warp =
        warp_access(access, block, clock, first_thread, lanes << first_thread % kLanes);
    done = try_range(access.offset, access.bytes, 0, warp, order);
    if (done == access.bytes) return std::nullopt;
  }
  Access rest = access;
  rest.offset += done;
  rest.bytes -= done;
  for (; lanes; lanes &= lanes - 1) {
    const ThreadClock& thread = block.threads[first_thread + std::countr_zero(lanes)];
    if (auto conflict = access_alone(rest, thread, order)) return conflict;
  }
  return std::nullopt;
}

std::optional<Conflict> Shadow::access(const Access& access, const ThreadClock& thread,
                                       HappensBefore& order) {
  return access_equal(access, *thread.block, thread.thread, 1,
                      thread.block->common_clock(thread.thread, 1), order);
}

namespace {

/// Calls `visit(lanes, clock)` for adjacent lanes with equal clocks, in ascending order, until it
/// returns a conflict.
template <class Visit>
std::optional<Conflict> for_each_run(const BlockClock& block, std::uint32_t first_thread,
                                     Mask lanes, Visit visit) {
  const WarpClock& clock = block.warp_clock(first_thread / kLanes);
  while (lanes) {
    const int first = std::countr_zero(lanes);
    int count = std::countr_one(lanes >> first);
    const std::span<const ThreadClock> threads(&block.threads[first_thread + first], count);
    for (int i = 1; !clock.is_uniform && i < count; ++i)
      if (threads[i].segment != threads[0].segment || threads[i].time != threads[0].time) count = i;
    const Mask run = (count == kLanes ? kAllLanes : (Mask{1} << count) - 1) << first;
    const auto conflict =
        visit(run, clock.is_uniform ? clock : block.common_clock(first_thread, run));
    if (conflict) return conflict;
    lanes &= ~run;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Conflict> Shadow::access_common(const Access& access, const BlockClock& block,
                                              std::uint32_t first_thread, Mask lanes,
                                              HappensBefore& order) {
  if (access.kind >= AccessKind::write)  // writes of several lanes conflict
    for (; lanes; lanes &= lanes - 1) {
      const ThreadClock& thread = block.threads[first_thread + std::countr_zero(lanes)];
      if (auto conflict = this->access(access, thread, order)) return conflict;
    }
  const WarpClock& clock = block.warp_clock(first_thread / kLanes);
  if (lanes && clock.is_uniform)
    return access_equal(access, block, first_thread, lanes, clock, order);
  return for_each_run(block, first_thread, lanes, [&](Mask run, const WarpClock& common) {
    return access_equal(access, block, first_thread, run, common, order);
  });
}

std::optional<Conflict> Shadow::access_row(const Access& access, const BlockClock& block,
                                           std::uint32_t first_thread, Mask lanes,
                                           HappensBefore& order) {
  constexpr std::uint64_t kMaximumStep = 64;
  const std::uint64_t step = access.bytes;
  const bool has_records = is_weak(access) && std::has_single_bit(step) && step <= kMaximumStep &&
                           access.offset % step == 0;
  const auto access_lane = [&](int lane, std::uint64_t skipped) {
    Access part = access;
    part.offset += static_cast<std::uint64_t>(lane) * step + skipped;
    part.bytes -= skipped;
    return access_alone(part, block.threads[first_thread + lane], order);
  };
  return for_each_run(block, first_thread, lanes, [&](Mask run, const WarpClock& clock) {
    std::optional<Conflict> conflict;
    const int first = std::countr_zero(run);
    const std::uint64_t bytes = static_cast<std::uint64_t>(std::popcount(run)) * step;
    WarpAccess warp = warp_access(access, block, clock, first_thread, run);
    warp.record.step_shift = static_cast<std::uint8_t>(std::countr_zero(step));
    for (std::uint64_t done = 0; done < bytes && !conflict;) {
      if (has_records)
        done += try_range(access.offset + static_cast<std::uint64_t>(first) * step + done,
                          bytes - done, static_cast<std::int64_t>(access.offset), warp, order);
      if (done == bytes) break;
      conflict = access_lane(first + static_cast<int>(done / step), done % step);
      done += step - done % step;
    }
    return conflict;
  });
}

}  // namespace sinter::virtual_gpu
