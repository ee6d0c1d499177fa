// Deferred release: keeps objects until a thread may make the driver calls that release them. A
// driver callback must not call the driver, and a stream capture forbids waiting.
#pragma once

#include "runtime/driver/driver.h"

namespace sinter {

struct DeviceState;

/// Base of objects whose release can be deferred.
class DeferredRelease {
 public:
  explicit DeferredRelease(const Driver& driver) : driver_(driver) {}
  virtual ~DeferredRelease() = default;
  DeferredRelease(const DeferredRelease&) = delete;
  DeferredRelease& operator=(const DeferredRelease&) = delete;

  /// True if it may be released now. `idle`: a device whose work is done since the release was
  /// deferred, or null.
  virtual bool is_releasable([[maybe_unused]] const DeviceState* idle) const noexcept {
    return true;
  }

 private:
  friend void defer_release(DeferredRelease* one) noexcept;
  friend class DeferredReleases;
  const Driver& driver_;
  DeferredRelease* next_ = nullptr;
};

/// Takes ownership of `one`. Does not block or allocate.
void defer_release(DeferredRelease* one) noexcept;
/// Releases all deferred objects that are releasable without an idle device. Calls destructors, and
/// so the driver: the caller must hold no lock. Never waits for a device, since that would
/// invalidate captures.
void run_deferred_releases() noexcept;
/// True while this thread releases deferred objects.
bool is_releasing() noexcept;

/// The objects that are deferred so far. Construct it before waiting for a device and release
/// afterwards: then no work on the device uses the objects.
class DeferredReleases {
 public:
  DeferredReleases() noexcept;
  /// Defers the objects that were not released again.
  ~DeferredReleases();
  DeferredReleases(const DeferredReleases&) = delete;
  DeferredReleases& operator=(const DeferredReleases&) = delete;

  /// Releases the objects that are releasable. `idle`: the device that was waited for, or null.
  void release(const DeviceState* idle) noexcept;

 private:
  DeferredRelease* first_;
};

}  // namespace sinter
