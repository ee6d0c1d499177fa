// What may be released only later, and by another call: its release needs the driver, and where it
// is given up nobody may call that.
#pragma once

#include "runtime/driver/driver.h"

namespace sinter {

struct DeviceState;

/// Something to be released later.
class DeferredRelease {
 public:
  explicit DeferredRelease(const Driver& driver) : driver_(driver) {}
  virtual ~DeferredRelease() = default;
  DeferredRelease(const DeferredRelease&) = delete;
  DeferredRelease& operator=(const DeferredRelease&) = delete;

  /// True if it may be released now. `idle`: a device that was waited for since it was given up, or
  /// null.
  virtual bool is_releasable([[maybe_unused]] const DeviceState* idle) const noexcept {
    return true;
  }

 private:
  friend void defer_release(DeferredRelease* one) noexcept;
  friend class DeferredReleases;
  const Driver& driver_;
  DeferredRelease* next_ = nullptr;
};

/// Takes over what `one` points to. Neither waits nor allocates.
void defer_release(DeferredRelease* one) noexcept;
/// Releases what was given to defer_release and may go. Calls destructors, and so the driver:
/// nothing may be locked. It never waits for a device, so that no capture is spoiled by it.
void run_deferred_releases() noexcept;
/// Whether this thread is releasing what was given to defer_release.
bool is_releasing() noexcept;

/// What has been given to defer_release so far. Taken before a device is waited for, and released
/// after that, so that nothing uses it any more.
class DeferredReleases {
 public:
  DeferredReleases() noexcept;
  /// Leaves what was not released to the next one.
  ~DeferredReleases();
  DeferredReleases(const DeferredReleases&) = delete;
  DeferredReleases& operator=(const DeferredReleases&) = delete;

  /// Releases what may go. `idle`: the device that was waited for, or null.
  void release(const DeviceState* idle) noexcept;

 private:
  DeferredRelease* first_;
};

}  // namespace sinter
