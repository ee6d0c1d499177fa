// Conflicts within a launch, and sets of unordered accesses.
#include "tests/virtual_gpu/checks/granule.h"

#include <algorithm>
#include <vector>

namespace sinter::virtual_gpu {

namespace {

PastAccess record_of(const Access& access, const ThreadClock& thread, std::uint16_t version) {
  return {.segment = thread.segment,
          .lanes = thread.lane_bit(),
          .time = thread.time,
          .line = access.line,
          .version = version,
          .warp = static_cast<std::uint8_t>(thread.warp()),
          .flags = Granule::flags_of(access)};
}

}  // namespace

void Granule::set_write(const Access& access, const ThreadClock& thread, std::uint16_t version) {
  write_ = record_of(access, thread, version);
}

/// A read of a weak write is no observation; its version does not matter.
void Granule::set_reads(const Access& access, const ThreadClock& thread) {
  const bool is_strong = (flags_of(access) & AccessFlags::kStrong) != 0;
  reads_ = record_of(access, thread, is_strong ? write_.version : std::uint16_t{0});
}

int Granule::finest_shift(const HappensBefore& order) const {
  int result = std::min(write_.step_shift, reads_.step_shift);
  if (const std::uint32_t set = order.histories().live(history_))
    result = std::min<int>(result, order.histories()[set].finest_shift);
  return result;
}

/// Handles the common case: all records are of ordered earlier launches, or belong to the same
/// thread or to the same access of other lanes. Returns false, without a change, if the case is
/// another.
bool Granule::try_alone(const Access& access, const ThreadClock& thread) {
  const std::uint8_t flags = flags_of(access);
  if (write_.segment >= thread.ordered_below) {
    // The thread's own write is ordered too, but an `ld.global.nc` must not follow it.
    if (write_.segment != thread.segment || write_.warp != thread.warp() ||
        write_.lanes != thread.lane_bit() || (flags & AccessFlags::kReadOnly))
      return false;
  }
  if (!(flags & AccessFlags::kWrite)) {
    if (reads_.segment == thread.segment && reads_.warp == thread.warp() &&
        reads_.time == thread.time && reads_.flags == flags) {
      reads_.lanes |= thread.lane_bit();
      reads_.line = access.line;
      return true;
    }
    if (history_ || reads_.segment >= thread.ordered_below) return false;
    // See the rule of strong and weak reads above.
    if (reads_.segment && ((reads_.flags | flags) & AccessFlags::kStrong)) return false;
    set_reads(access, thread);
    return true;
  }
  if (history_) return false;
  if (reads_.segment >= thread.ordered_below &&
      (reads_.segment != thread.segment || reads_.warp != thread.warp() ||
       reads_.lanes != thread.lane_bit() || (reads_.flags & AccessFlags::kReadOnly)))
    return false;
  set_write(access, thread, 0);
  reads_ = {};
  return true;
}

std::optional<GranuleConflict> Granule::compare_and_record(const Access& access,
                                                           const ThreadClock& thread,
                                                           HappensBefore& order, int at) {
  if (write_.is_row()) write_ = write_.common_at(at);
  if (reads_.is_row()) reads_ = reads_.common_at(at);
  if (try_alone(access, thread)) return std::nullopt;
  forget_retired(order);
  if (auto conflict = find_conflict(access, thread, order, at)) return conflict;
  if (is_write(access)) {
    record_write(access, thread, order, at);
  } else {
    record_read(access, thread, order, at);
  }
  return std::nullopt;
}

void Granule::forget_retired(HappensBefore& order) {
  history_ = order.histories().live(history_);
  if (order.is_retired(reads_.segment)) reads_ = {};
  if (order.is_retired(write_.segment)) write_ = {};
}

// ---- Conflicts ----

/// True if a strong read of the version is ordered before the access.
bool Granule::is_observed(std::uint16_t version, const ThreadClock& thread, HappensBefore& order,
                          int at) const {
  const auto observes = [&](const PastAccess& read) {
    return read.segment && read.has(AccessFlags::kStrong) && !read.has(AccessFlags::kWrite) &&
           read.version == version && order.unordered(read.group(), thread) != read.lanes;
  };
  if (observes(reads_)) return true;
  for (std::uint32_t set = history_; set; set = order.histories()[set].older)
    if (observes(order.histories()[set].access.common_at(at))) return true;
  return false;
}

std::optional<GranuleConflict> Granule::find_conflict(const Access& access,
                                                      const ThreadClock& thread,
                                                      HappensBefore& order, int at) const {
  const std::uint8_t flags = flags_of(access);
  const std::uint32_t launch = thread.block->id.launch;
  const auto compare = [&](const PastAccess& past) -> std::optional<GranuleConflict> {
    if (!past.segment || !past.lanes) return std::nullopt;
    const std::uint8_t both = past.flags & flags;
    const std::uint8_t either = past.flags | flags;
    if (!(either & AccessFlags::kWrite)) return std::nullopt;
    if ((either & AccessFlags::kReadOnly) && order.launch_of(past.segment) == launch)
      return GranuleConflict{.earlier = past, .lanes = past.lanes, .breaks_read_only = true};
    if (both & AccessFlags::kStrong) return std::nullopt;
    const Mask lanes = order.unordered(past.group(), thread);
    if (!lanes) return std::nullopt;
    constexpr std::uint8_t kStrongWrite = AccessFlags::kStrong | AccessFlags::kWrite;
    if ((past.flags & kStrongWrite) == kStrongWrite && is_observed(past.version, thread, order, at))
      return std::nullopt;
    return GranuleConflict{.earlier = past, .lanes = lanes, .breaks_read_only = false};
  };
  if (auto conflict = compare(write_)) return conflict;
  if (auto conflict = compare(reads_)) return conflict;
  if (!history_) return std::nullopt;
  const bool has_writes = order.histories()[history_].flags & AccessFlags::kWrite;
  if (!has_writes && !is_write(access)) return std::nullopt;
  for (std::uint32_t set = history_; set; set = order.histories()[set].older)
    if (auto conflict = compare(order.histories()[set].access.common_at(at))) return conflict;
  return std::nullopt;
}

// ---- Reads ----

/// True if no later access conflicts with the past read but not with the new one.
bool Granule::replaces(const PastAccess& past, const Access& access, const ThreadClock& thread,
                       HappensBefore& order) {
  // Strong reads stay, as they may have observed a write.
  if ((past.flags | flags_of(access)) & (AccessFlags::kStrong | AccessFlags::kWrite)) return false;
  if (past.segment < thread.ordered_below) return true;
  const std::uint32_t own = thread.block->id.launch;
  if (past.has(AccessFlags::kReadOnly) &&
      !(access.kind == AccessKind::read_only && order.launch_of(past.segment) == own) &&
      !order.is_of_launch_before(past.segment, own))
    return false;
  return order.unordered(past.group(), thread) == 0;
}

/// Removes reads from the history that the new read replaces, as far as they are the newest.
void Granule::drop_replaced(const Access& access, const ThreadClock& thread, HappensBefore& order,
                            int at) {
  const AccessHistories& histories = order.histories();
  while (history_) {
    const AccessHistories::Node& node = histories[history_];
    const std::uint8_t flags = node.flags | flags_of(access);
    if (node.newest_segment < thread.ordered_below &&
        !(flags & (AccessFlags::kStrong | AccessFlags::kWrite))) {
      history_ = 0;
    } else if (replaces(node.access.common_at(at), access, thread, order)) {
      history_ = node.older;
    } else {
      return;
    }
  }
}

void Granule::record_read(const Access& access, const ThreadClock& thread, HappensBefore& order,
                          int at) {
  if (reads_.segment == thread.segment && reads_.warp == thread.warp() &&
      reads_.time == thread.time && reads_.flags == flags_of(access)) {
    reads_.lanes |= thread.lane_bit();
    reads_.line = access.line;
    return;
  }
  const bool are_replaced = !reads_.segment || replaces(reads_, access, thread, order);
  if (are_replaced) drop_replaced(access, thread, order, at);
  if (!are_replaced) history_ = order.histories().push(history_, reads_, order);
  set_reads(access, thread);
}

// ---- Writes ----

void Granule::record_write(const Access& access, const ThreadClock& thread, HappensBefore& order,
                           int at) {
  std::uint16_t version = 0;
  if (flags_of(access) & AccessFlags::kStrong) {
    version = keep_unordered(access, thread, order, at);
  } else {
    // All earlier accesses are ordered, else there would be a conflict.
    history_ = 0;
  }
  reads_ = {};
  set_write(access, thread, version);
}

/// Moves the records that are not ordered before a strong write to the history. All of them are
/// strong. Returns the version of the write.
std::uint16_t Granule::keep_unordered(const Access& access, const ThreadClock& thread,
                                      HappensBefore& order, int at) {
  std::vector<PastAccess> past;  // newest first
  if (reads_.segment) past.push_back(reads_);
  // An atomic observes a strong write that it reads. A weak write is ordered before it.
  if (write_.segment && access.kind != AccessKind::atomic) past.push_back(write_);
  for (std::uint32_t set = history_; set; set = order.histories()[set].older)
    past.push_back(order.histories()[set].access.common_at(at));
  std::uint32_t kept = 0;
  for (std::size_t i = past.size(); i-- > 0;) {
    past[i].lanes = order.unordered(past[i].group(), thread);
    if (!past[i].lanes) continue;
    if (past[i].has(AccessFlags::kWrite) && is_observed(past[i].version, thread, order, at))
      continue;
    kept = order.histories().push(kept, past[i], order);
  }
  history_ = kept;
  // Reads in the history have not observed the new write, so it needs a version of its own.
  return kept ? static_cast<std::uint16_t>(write_.version + 1) : std::uint16_t{0};
}

}  // namespace sinter::virtual_gpu
