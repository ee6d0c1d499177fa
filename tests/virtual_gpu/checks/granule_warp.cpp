// Accesses of a whole warp: the cases that need no look at single lanes.
#include <bit>

#include "tests/virtual_gpu/checks/granule.h"

namespace sinter::virtual_gpu {
namespace {

enum class Relation {
  before_launch,  ///< ordered before the launch of the access, or no access at all
  ordered,
  unknown,  ///< only the clocks of single threads tell
};

/// True if each lane that made the past access makes the new one too. `alone`: and no other lane.
bool covers(const WarpAccess& access, const PastAccess& past, int at, int granule_shift,
            bool alone) {
  const PastAccess& record = access.record;
  if (past.is_row() && past.has_form_of(record)) return true;
  if (past.step_shift < granule_shift || record.step_shift < granule_shift) return false;
  const Mask lanes = record.lanes_at(at);
  return (past.lanes_at(at) & ~lanes) == 0 && (!alone || std::has_single_bit(lanes));
}

/// `alone`: the past access is ordered before the access of each lane, else before that of its own
/// lane.
Relation relation_of(const PastAccess& past, const WarpAccess& access, int at, int granule_shift,
                     bool alone, const HappensBefore& order) {
  if (past.segment < access.ordered_below) return Relation::before_launch;
  if (past.warp == access.record.warp) {
    const BlockId block = order.segment_of(past.segment).block;
    const BlockId own = access.block->id;
    if (block.launch == own.launch && block.block == own.block &&
        covers(access, past, at, granule_shift, alone))
      return Relation::ordered;
  }
  return order.is_segment_before(past.segment, *access.block, *access.clock) ? Relation::ordered
                                                                             : Relation::unknown;
}

/// False if the past access and the new one may be a race between a write and an `ld.global.nc`,
/// which needs both in one launch.
bool allows_read_only(const PastAccess& past, const WarpAccess& access, Relation relation,
                      const HappensBefore& order) {
  return relation == Relation::before_launch ||
         !((past.flags | access.record.flags) & AccessFlags::kReadOnly) ||
         order.launch_of(past.segment) != access.block->id.launch;
}

/// True if no later access conflicts with the past read but not with the new one. See
/// Granule::replaces.
bool is_replaced(const PastAccess& past, const WarpAccess& access, int at, int granule_shift,
                 const HappensBefore& order) {
  if (past.has(AccessFlags::kStrong | AccessFlags::kWrite)) return false;
  const Relation relation = relation_of(past, access, at, granule_shift, false, order);
  if (relation == Relation::before_launch) return true;
  const std::uint32_t own = access.block->id.launch;
  const bool needs_read_only =
      past.has(AccessFlags::kReadOnly) &&
      !(access.record.has(AccessFlags::kReadOnly) && order.launch_of(past.segment) == own) &&
      !order.is_of_launch_before(past.segment, own);
  return relation == Relation::ordered && !needs_read_only;
}

/// True if the newest accesses of the set, all of the same interval, include the access.
bool has_access(const AccessHistories& histories, std::uint32_t set, const PastAccess& access) {
  constexpr int kMaximumSteps = 32;
  for (int i = 0; set && i < kMaximumSteps; ++i) {
    const AccessHistories::Node& node = histories[set];
    if (node.access.segment != access.segment) return false;
    if (node.access.is_like(access) && (access.lanes & ~node.access.lanes) == 0) return true;
    set = node.older;
  }
  return false;
}

}  // namespace

bool Granule::try_warp(const WarpAccess& access, int at, int granule_shift, HappensBefore& order) {
  // Without records of launches that ended, equal granules can become one.
  if (order.is_retired(write_.segment)) write_ = {};
  if (order.is_retired(reads_.segment)) reads_ = {};
  history_ = order.histories().live(history_);
  return access.record.has(AccessFlags::kWrite) ? try_write(access, at, granule_shift, order)
                                                : try_read(access, at, granule_shift, order);
}

bool Granule::try_write(const WarpAccess& access, int at, int granule_shift, HappensBefore& order) {
  const auto allows = [&](const PastAccess& past) {
    const Relation relation = relation_of(past, access, at, granule_shift, true, order);
    return relation != Relation::unknown && allows_read_only(past, access, relation, order);
  };
  if (!allows(write_) || !allows(reads_)) return false;
  const AccessHistories& histories = order.histories();
  for (std::uint32_t set = history_; set; set = histories[set].older) {
    if (histories[set].newest_segment < access.ordered_below) break;
    if (!allows(histories[set].access)) return false;
  }
  history_ = 0;
  reads_ = {};
  write_ = access.record;
  return true;
}

bool Granule::try_read(const WarpAccess& access, int at, int granule_shift, HappensBefore& order) {
  const PastAccess& record = access.record;
  const Relation relation = relation_of(write_, access, at, granule_shift, true, order);
  if (relation == Relation::unknown || !allows_read_only(write_, access, relation, order))
    return false;
  if (reads_.segment && reads_.is_like(record)) {
    reads_.lanes |= record.lanes;
    reads_.line = record.line;
    return true;
  }
  AccessHistories& histories = order.histories();
  constexpr std::uint8_t kSpecial = AccessFlags::kStrong | AccessFlags::kWrite;
  if (reads_.has(kSpecial) || (history_ && (histories[history_].flags & kSpecial))) return false;
  if (is_replaced(reads_, access, at, granule_shift, order)) {
    while (history_) {
      const AccessHistories::Node& node = histories[history_];
      if (node.newest_segment < access.ordered_below)
        history_ = 0;
      else if (is_replaced(node.access, access, at, granule_shift, order))
        history_ = node.older;
      else
        break;
    }
  } else {
    if (has_access(histories, history_, record)) return true;
    history_ = histories.push(history_, reads_, order);
  }
  reads_ = record;
  return true;
}

}  // namespace sinter::virtual_gpu
