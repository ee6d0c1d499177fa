// Shadow: what happened to each byte of a piece of memory: whether something wrote it, and its last
// accesses.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tests/virtual_gpu/isa/lane_state.h"

namespace sinter::virtual_gpu {

class HappensBefore;
struct BlockClock;
struct ThreadClock;
struct WarpAccess;
struct WarpClock;

/// A past access, as the happens-before relation knows it.
struct AccessStamp {
  std::uint32_t segment = 0;  ///< of HappensBefore: a launch, block and barrier interval; 0: none
  std::uint32_t thread = 0;   ///< in the block
  std::uint32_t time = 0;     ///< the number of releases of the thread before the access
  std::int32_t line = 0;      ///< of the PTX text; 0: a copy or fill of the driver
};

enum class AccessKind : std::uint8_t {
  read,
  read_only,  ///< `ld.global.nc`: nothing may write the bytes during the launch
  write,
  atomic,
};

/// One lane's access, or that of a copy or fill.
struct Access {
  AccessKind kind = AccessKind::read;
  bool is_strong = false;  ///< volatile, relaxed, acquire or release; atomics always are
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::int32_t line = 0;
};

/// A conflicting access that is not ordered before the new one.
struct Conflict {
  /// If several lanes of a warp read the byte, the line is that of the last of them.
  AccessStamp earlier;
  bool earlier_is_write = false;
  bool breaks_read_only = false;  ///< the race is between a write and an `ld.global.nc` of a launch
  std::uint64_t offset = 0;       ///< of the first byte in conflict
  std::uint32_t thread = 0;       ///< in the block: the thread that made the new access
};

/// Pages with one record per granule (see granule.h). A page begins as one granule. An access that
/// does not cover whole granules refines it: all granules of a page have one size, a power of two.
/// Adjacent lanes of a warp share granules, as long as no check needs to tell them apart.
/// The HappensBefore of its accesses must be the same for all calls.
class Shadow {
 public:
  explicit Shadow(std::uint64_t bytes = 0);
  Shadow(Shadow&&) noexcept;
  Shadow& operator=(Shadow&&) noexcept;
  ~Shadow();

  /// The first byte of the access that nothing has written; nullopt if all are initialised.
  std::optional<std::uint64_t> first_uninitialized(std::uint64_t offset, std::uint64_t bytes) const;
  void mark_initialized(std::uint64_t offset, std::uint64_t bytes);
  void mark_uninitialized(std::uint64_t offset, std::uint64_t bytes);
  /// Copies the initialisation of bytes, as a copy of memory does. The ranges may overlap.
  void copy_initialization(std::uint64_t offset, const Shadow& from, std::uint64_t from_offset,
                           std::uint64_t bytes);

  /// Compares the access with earlier ones and records it. Writes also mark bytes as initialised.
  /// After a conflict, the granules from the conflict on are unchanged.
  std::optional<Conflict> access(const Access& access, const ThreadClock& thread,
                                 HappensBefore& order);
  /// The same as access() for each thread `first_thread + i` with bit i of `lanes`, in ascending
  /// order, at `access.offset + i * access.bytes`. Faster for the lanes of a warp.
  std::optional<Conflict> access_row(const Access& access, const BlockClock& block,
                                     std::uint32_t first_thread, Mask lanes, HappensBefore& order);
  /// The same as access() for each of these threads, all at `access.offset`.
  std::optional<Conflict> access_common(const Access& access, const BlockClock& block,
                                        std::uint32_t first_thread, Mask lanes,
                                        HappensBefore& order);

 private:
  struct Page;
  Page& page(std::uint64_t index);
  std::uint64_t limit_of(std::uint64_t index) const;
  /// Calls `visit(index, first, count)` for the pages of the range, until it returns false.
  template <class Visit>
  static void for_each_page(std::uint64_t offset, std::uint64_t bytes, Visit visit);
  std::uint64_t uninitialized_bytes(std::uint64_t offset, std::uint64_t bytes) const;
  std::optional<Conflict> access_alone(const Access& access, const ThreadClock& thread,
                                       HappensBefore& order);
  std::optional<Conflict> access_page_alone(std::uint64_t index, std::uint64_t first,
                                            std::uint64_t count, const Access& access,
                                            const ThreadClock& thread, HappensBefore& order);
  std::uint64_t try_page(std::uint64_t index, std::uint64_t first, std::uint64_t count,
                         const WarpAccess& access, HappensBefore& order);
  std::uint64_t try_range(std::uint64_t offset, std::uint64_t bytes, std::int64_t row,
                          WarpAccess& access, HappensBefore& order);
  std::optional<Conflict> access_equal(const Access& access, const BlockClock& block,
                                       std::uint32_t first_thread, Mask lanes,
                                       const WarpClock& clock, HappensBefore& order);

  std::uint64_t bytes_ = 0;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace sinter::virtual_gpu
