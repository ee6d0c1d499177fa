// MemoryUse: tracks the streams that use a piece of device memory, to know when it can be reused.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/device/free_list.h"

namespace sinter {

struct DeviceState;
struct StreamState;

/// All streams that use one piece of memory since it was allocated. Streams are identified by
/// StreamState::id, because drivers reuse the handles of destroyed streams. The previous
/// uses are those of the previous owners of the memory.
class MemoryUse {
 public:
  /// Call this before work that uses the memory is put on `stream`, which must not be in a capture.
  /// The first time, makes the stream wait for the previous uses. Throws DriverError.
  void begin(DeviceState& device, const std::shared_ptr<StreamState>& stream);
  /// Call this after that work is on `stream`. Records its end if the stream is wrapped, because
  /// such a stream may be gone when the memory is released.
  void end(DeviceState& device, const StreamState& stream) noexcept;
  /// An alternative to `end`: the caller records `mark` after the work on `stream`, and again after
  /// later work.
  void end_at(const StreamState& stream, const std::shared_ptr<EventState>& mark);
  /// Waits for the previous uses. Throws DriverError.
  void await_previous_uses(DeviceState& device);
  /// Waits for the previous uses, and stops tracking: from now on the uses are unknown.
  void stop_tracking(DeviceState& device);

  /// Sets the ends of the previous uses. Call this before the first use.
  void set_previous_uses(std::vector<UsePoint> points) { previous_uses_ = std::move(points); }
  /// Records the points after which no use remains, for the release of the memory. Returns nothing
  /// if the uses are unknown, or the points cannot be recorded.
  std::optional<std::vector<UsePoint>> record_end_points(DeviceState& device) noexcept;

 private:
  /// Stops tracking: the uses are unknown from now on.
  void mark_unknown() noexcept;

  struct EndMark {
    std::uint64_t stream;
    std::shared_ptr<EventState> event;
    bool is_recorded_by_end;  ///< after the last use
  };

  std::atomic<bool> is_known_ = true;
  std::atomic<std::uint64_t> last_stream_ = 0;  ///< the stream of the last use
  std::mutex mutex_;                            ///< protects the fields below
  std::vector<UsePoint> previous_uses_;
  std::vector<std::uint64_t> ordered_streams_;  ///< streams that wait for `previous_uses_`
  std::vector<std::shared_ptr<StreamState>> owned_streams_;  ///< those that sinter owns
  std::vector<EndMark> marks_;
};

}  // namespace sinter
