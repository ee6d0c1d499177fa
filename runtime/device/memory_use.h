// Which streams use a piece of device memory, and so when it may be used for something else.
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

/// All streams that use one piece of memory, from its first use on. Streams are told apart by ids,
/// since drivers give the handle of a stream that has gone to the next one.
class MemoryUse {
 public:
  /// To be called before work that uses the memory is put on `stream`, which is not being captured:
  /// it is to wait for what used the memory before it was ours. Throws DriverError.
  void begin(DeviceState& device, const std::shared_ptr<StreamState>& stream);
  /// To be called when that work is on `stream`: where somebody else owns the stream, its end is
  /// marked, since the stream may be gone when the memory is given back.
  void end(DeviceState& device, const StreamState& stream) noexcept;
  /// In place of that: `mark` is recorded behind such work on `stream` by who puts it there, and
  /// again behind later work.
  void end_at(const StreamState& stream, const std::shared_ptr<EventState>& mark);
  /// Waits for what used the memory before it was ours. Throws DriverError.
  void await_former(DeviceState& device);
  /// The same, and from now on nobody knows who uses it.
  void let_out(DeviceState& device);

  /// What there is before the first use.
  void set_former(std::vector<UsePoint> points) { former_ = std::move(points); }
  /// Points that are behind all uses, for who gives the memory back; nothing where that is not
  /// known, or cannot be marked.
  std::optional<std::vector<UsePoint>> ends(DeviceState& device) noexcept;

 private:
  /// From now on nobody knows who uses it, and what is known is of no use.
  void forget() noexcept;

  struct Mark {
    std::uint64_t stream;
    std::shared_ptr<EventState> event;
    bool is_own;  ///< recorded by `end`, behind the last use
  };

  std::atomic<bool> is_known_ = true;
  std::atomic<std::uint64_t> last_ = 0;  ///< the stream of the last use
  std::mutex mutex_;                     ///< of what follows
  std::vector<UsePoint> former_;
  std::vector<std::uint64_t> began_;  ///< the streams that have waited for `former_`
  std::vector<std::shared_ptr<StreamState>> streams_;  ///< those of ours among them
  std::vector<Mark> marks_;
};

}  // namespace sinter
