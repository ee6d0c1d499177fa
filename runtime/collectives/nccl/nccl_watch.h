// NcclWatch: the thread that notices collectives which fail or never end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/device/device_state.h"

namespace sinter {

/// Sleeps while nothing is in flight. Threads may share it.
class NcclWatch {
 public:
  struct Observer {
    /// The error of the communicator; empty if there is none or if it is in use.
    std::function<std::string()> find_error;
    /// Called once, by the thread: `what` has failed because of `why`.
    std::function<void(const std::string& what, const std::string& why)> fail;
  };

  NcclWatch(const DeviceState& device, std::chrono::milliseconds timeout, Observer observer);
  /// Ends the thread, also if work is in flight.
  ~NcclWatch();
  NcclWatch(const NcclWatch&) = delete;
  NcclWatch& operator=(const NcclWatch&) = delete;

  /// Watches everything that is on the stream now. `what` describes it. The context of the device
  /// must be current, and the stream not captured. Throws DriverError.
  void add(CUstream stream, std::shared_ptr<const std::string> what);
  /// The description of the first collective that has not ended; null if all have.
  std::shared_ptr<const std::string> first();

 private:
  using Clock = std::chrono::steady_clock;

  struct Item {
    CUevent event = nullptr;
    std::shared_ptr<const std::string> what;
  };

  void work();
  /// Why the first item has failed; empty if it has not. Removes items that have ended.
  std::string look();
  CUevent take_event();

  const DeviceState& device_;
  const std::chrono::milliseconds timeout_;
  const Observer observer_;
  Clock::time_point progress_;  ///< when an item last ended or was the first one; of the thread

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> in_flight_;  ///< in the order of their start; only the thread removes items
  std::vector<CUevent> free_events_;
  bool is_ending_ = false;
  std::thread thread_;  ///< started by the first item
};

}  // namespace sinter
