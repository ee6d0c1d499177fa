// What may be released only later, and by another call: its release needs the driver, and where it
// is given up nobody may call that.
#pragma once

namespace sinter {

/// Something to be released later.
class ReleasedLater {
 public:
  ReleasedLater() = default;
  virtual ~ReleasedLater() = default;
  ReleasedLater(const ReleasedLater&) = delete;
  ReleasedLater& operator=(const ReleasedLater&) = delete;

  /// True if it may be released now.
  virtual bool may_go() const noexcept { return true; }

 private:
  friend void release_later(ReleasedLater* one) noexcept;
  friend void release_what_may_go() noexcept;
  ReleasedLater* next_ = nullptr;
};

/// Takes over what `one` points to. Neither waits nor allocates.
void release_later(ReleasedLater* one) noexcept;
/// Releases what was given to release_later and may go. Calls destructors, and so the driver:
/// nothing may be locked.
void release_what_may_go() noexcept;

}  // namespace sinter
