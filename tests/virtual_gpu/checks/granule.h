// Granule: the last accesses to adjacent bytes, and the rules by which a new access conflicts with
// them.
#pragma once

#include <cstdint>
#include <optional>

#include "tests/virtual_gpu/checks/access_history.h"
#include "tests/virtual_gpu/checks/happens_before.h"
#include "tests/virtual_gpu/checks/shadow.h"

namespace sinter::virtual_gpu {

/// An earlier access in conflict with a new one.
struct GranuleConflict {
  PastAccess earlier;
  Mask lanes = 0;  ///< those of the earlier access that are not ordered
  bool breaks_read_only = false;
};

/// The records of a granule:
/// - the last write;
/// - the last reads after it, of lanes of one warp;
/// - a set of older reads, and of older strong writes that no order connects with later ones.
/// A write that an access is ordered before replaces the record of this access: later accesses
/// are compared with the write only. A read replaces a read that is ordered before it, if it
/// conflicts with as many accesses. So a strong read does not replace a weak one.
///
/// PTX ISA manual, "Observation Order" and "Causality Order". A strong write is ordered before an
/// access if a strong read that observed the write is ordered before this access. An atomic
/// continues the chain of the strong write that it read: its record replaces that of the write. The
/// version says which write a strong read observed.
class Granule {
 public:
  /// Handles the common case: all records are of ordered earlier launches, or belong to the same
  /// thread or to the same access of other lanes. Returns false, without a change, if the case is
  /// another.
  bool try_alone(const Access& access, const ThreadClock& thread);
  /// Compares the access with the records, and adds it to them if there is no conflict.
  std::optional<GranuleConflict> compare_and_record(const Access& access, const ThreadClock& thread,
                                                    HappensBefore& order);

 private:
  struct Write {
    std::uint32_t segment = 0;  ///< 0: none
    std::uint32_t time = 0;
    std::int32_t line = 0;
    std::uint16_t thread : 15 = 0;
    std::uint16_t is_strong : 1 = 0;
    std::uint16_t version = 0;
  };
  struct Reads {
    std::uint32_t segment = 0;  ///< 0: none
    Mask lanes = 0;
    std::uint32_t time = 0;
    std::int32_t line = 0;
    std::uint8_t warp = 0;
    std::uint8_t flags = 0;
  };

  std::optional<GranuleConflict> find_conflict(const Access& access, const ThreadClock& thread,
                                               HappensBefore& order) const;
  void record_read(const Access& access, const ThreadClock& thread, HappensBefore& order);
  void record_write(const Access& access, const ThreadClock& thread, HappensBefore& order);
  std::uint16_t keep_unordered(const Access& access, const ThreadClock& thread,
                               HappensBefore& order);
  void forget_retired(HappensBefore& order);
  bool is_observed(std::uint16_t version, const ThreadClock& thread, HappensBefore& order) const;
  void drop_replaced(const Access& access, const ThreadClock& thread, HappensBefore& order);
  static bool replaces(const PastAccess& past, const Access& access, const ThreadClock& thread,
                       HappensBefore& order);
  PastAccess write() const;
  PastAccess reads() const;
  void set_write(const Access& access, const ThreadClock& thread, std::uint16_t version);
  void set_reads(const Access& access, const ThreadClock& thread);

  static bool is_write(const Access& access) { return access.kind >= AccessKind::write; }
  static std::uint8_t flags_of(const Access& access) {
    return static_cast<std::uint8_t>(
        (is_write(access) ? AccessFlags::kWrite : 0) |
        (access.is_strong || access.kind == AccessKind::atomic ? AccessFlags::kStrong : 0) |
        (access.kind == AccessKind::read_only ? AccessFlags::kReadOnly : 0));
  }

  Write write_;
  Reads reads_;
  std::uint32_t history_ = 0;  ///< of HappensBefore::histories()
};

static_assert(sizeof(Granule) == 40, "memory has one per 4 bytes or more");

inline void Granule::set_write(const Access& access, const ThreadClock& thread,
                               std::uint16_t version) {
  write_ = {.segment = thread.segment,
            .time = thread.time,
            .line = access.line,
            .thread = static_cast<std::uint16_t>(thread.thread & 0x7fff),
            .is_strong = (flags_of(access) & AccessFlags::kStrong) != 0,
            .version = version};
}

inline void Granule::set_reads(const Access& access, const ThreadClock& thread) {
  reads_ = {.segment = thread.segment,
            .lanes = thread.lane_bit(),
            .time = thread.time,
            .line = access.line,
            .warp = static_cast<std::uint8_t>(thread.warp()),
            .flags = flags_of(access)};
}

inline bool Granule::try_alone(const Access& access, const ThreadClock& thread) {
  const std::uint8_t flags = flags_of(access);
  if (write_.segment >= thread.ordered_below) {
    // The thread's own write is ordered too, but an `ld.global.nc` must not follow it.
    if (write_.segment != thread.segment || write_.thread != thread.thread ||
        (flags & AccessFlags::kReadOnly))
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
    if (reads_.segment && (flags & AccessFlags::kStrong)) return false;
    if (reads_.segment && (reads_.flags & AccessFlags::kStrong)) return false;
    set_reads(access, thread);
    return true;
  }
  if (history_) return false;
  if (reads_.segment >= thread.ordered_below &&
      (reads_.segment != thread.segment || reads_.warp != thread.warp() ||
       reads_.lanes != thread.lane_bit() || (reads_.flags & AccessFlags::kReadOnly)))
    return false;
  set_write(access, thread, 0);
  reads_.segment = 0;
  return true;
}

}  // namespace sinter::virtual_gpu
