// What may be released only later, and by another call: its release needs the driver, and where it
// is given up nobody may call that.
#pragma once

#include "runtime/driver/driver.h"

namespace sinter {

struct DeviceState;

/// Something to be released later.
class ReleasedLater {
 public:
  explicit ReleasedLater(const Driver& driver) : driver_(driver) {}
  virtual ~ReleasedLater() = default;
  ReleasedLater(const ReleasedLater&) = delete;
  ReleasedLater& operator=(const ReleasedLater&) = delete;

  /// True if it may be released now. `idle`: a device that was waited for since it was given up, or
  /// null.
  virtual bool may_go([[maybe_unused]] const DeviceState* idle) const noexcept { return true; }

 private:
  friend void release_later(ReleasedLater* one) noexcept;
  friend class PutOff;
  const Driver& driver_;
  ReleasedLater* next_ = nullptr;
};

/// Takes over what `one` points to. Neither waits nor allocates.
void release_later(ReleasedLater* one) noexcept;
/// Releases what was given to release_later and may go. Calls destructors, and so the driver:
/// nothing may be locked. It never waits for a device, so that no capture is spoiled by it.
void release_what_may_go() noexcept;
/// Whether this thread is releasing what was given to release_later.
bool is_releasing() noexcept;

/// What has been given to release_later so far. Taken before a device is waited for, and released
/// after that, so that nothing uses it any more.
class PutOff {
 public:
  PutOff() noexcept;
  /// Leaves what was not released to the next one.
  ~PutOff();
  PutOff(const PutOff&) = delete;
  PutOff& operator=(const PutOff&) = delete;

  /// Releases what may go. `idle`: the device that was waited for, or null.
  void release(const DeviceState* idle) noexcept;

 private:
  ReleasedLater* first_;
};

}  // namespace sinter
