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

/// An access of lanes of one warp, whose clocks have a common part.
struct WarpAccess {
  PastAccess record;  ///< as it will be remembered
  const BlockClock* block = nullptr;
  const WarpClock* clock = nullptr;
  std::uint32_t ordered_below = 0;  ///< segments below are ordered before the launch
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
///
/// `at` is the place of the granule in its page.
class Granule {
 public:
  /// Handles weak accesses of a warp if all records are ordered before them, or if the same
  /// threads accessed the same bytes. Returns false, without a change, if the case is another.
  bool try_warp(const WarpAccess& access, int at, int granule_shift, HappensBefore& order);
  /// Compares the access with the records, and adds it to them if there is no conflict. The granule
  /// must not be larger than the access or finest_shift().
  std::optional<GranuleConflict> compare_and_record(const Access& access, const ThreadClock& thread,
                                                    HappensBefore& order, int at);
  /// The smallest step of rows among the records.
  int finest_shift(const HappensBefore& order) const;
  bool operator==(const Granule&) const = default;

  static bool is_write(const Access& access) { return access.kind >= AccessKind::write; }
  static std::uint8_t flags_of(const Access& access) {
    return static_cast<std::uint8_t>(
        (is_write(access) ? AccessFlags::kWrite : 0) |
        (access.is_strong || access.kind == AccessKind::atomic ? AccessFlags::kStrong : 0) |
        (access.kind == AccessKind::read_only ? AccessFlags::kReadOnly : 0));
  }

 private:
  bool try_write(const WarpAccess& access, int at, int granule_shift, HappensBefore& order);
  bool try_read(const WarpAccess& access, int at, int granule_shift, HappensBefore& order);
  bool try_alone(const Access& access, const ThreadClock& thread);
  std::optional<GranuleConflict> find_conflict(const Access& access, const ThreadClock& thread,
                                               HappensBefore& order, int at) const;
  void record_read(const Access& access, const ThreadClock& thread, HappensBefore& order, int at);
  void record_write(const Access& access, const ThreadClock& thread, HappensBefore& order, int at);
  std::uint16_t keep_unordered(const Access& access, const ThreadClock& thread,
                               HappensBefore& order, int at);
  void forget_retired(HappensBefore& order);
  bool is_observed(std::uint16_t version, const ThreadClock& thread, HappensBefore& order,
                   int at) const;
  void drop_replaced(const Access& access, const ThreadClock& thread, HappensBefore& order, int at);
  static bool replaces(const PastAccess& past, const Access& access, const ThreadClock& thread,
                       HappensBefore& order);
  void set_write(const Access& access, const ThreadClock& thread, std::uint16_t version);
  void set_reads(const Access& access, const ThreadClock& thread);

  PastAccess write_;
  PastAccess reads_;
  std::uint32_t history_ = 0;  ///< of HappensBefore::histories()
};

static_assert(sizeof(Granule) == 52, "pages with many granules need much memory");

}  // namespace sinter::virtual_gpu
