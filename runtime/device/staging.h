// Staging: copies between a device and pageable host memory through pinned memory, so that the host
// does not wait for earlier work on the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/driver/driver.h"

namespace sinter {

struct DeviceState;
struct EventState;
struct StreamState;

/// A few buffers of pinned memory, allocated on first use and used in turn. Usable from any thread.
/// A copy waits only for buffers on its own stream, as a driver copy would. If no buffer is free,
/// the driver makes the copy.
class Staging {
 public:
  /// Describes a copy in errors.
  using Describe = std::function<std::string()>;
  struct Limits {
    std::size_t buffer_bytes = std::size_t{4} << 20;
    std::size_t buffers = 4;
    /// Smaller copies go to the driver. It copies up to 64 KiB from the host without waiting for
    /// the stream ("Asynchronous Concurrent Execution" in the CUDA Programming Guide).
    std::size_t least_bytes = (std::size_t{64} << 10) + 1;
  };
  static constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

  explicit Staging(DeviceState& device);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Puts copies of the first bytes on `stream`, which must not be in a capture. Returns the number
  /// of these bytes; the caller may then overwrite them in `from`. Throws DriverError.
  std::size_t upload(CUdeviceptr to, const void* from, std::size_t bytes, const StreamState& stream,
                     const Describe& what);
  /// The same in the other direction. The bytes are in `to` when this returns.
  std::size_t download(void* to, CUdeviceptr from, std::size_t bytes, const StreamState& stream,
                       const Describe& what);

  /// True if the device may read the pageable memory `host` after the call that copies from it has
  /// returned. A device that uses the page tables of the host needs no copy by the driver.
  bool may_read_later(const void* host) const;

  /// Releases all buffers and sets new limits. There must be no copy at the same time.
  void set_limits(const Limits& limits);

 private:
  struct PinnedBuffer;
  struct Release {
    Staging* staging;
    void operator()(PinnedBuffer* buffer) const noexcept { staging->release(*buffer); }
  };
  /// A buffer that a thread fills or reads.
  using HeldBuffer = std::unique_ptr<PinnedBuffer, Release>;

  bool should_stage(std::size_t bytes, const void* host) const;
  bool is_pageable(const void* host) const;
  /// Takes an unused buffer for this thread; null if there is none.
  HeldBuffer take(const StreamState& stream);
  PinnedBuffer* choose(const StreamState& stream);
  bool is_free(PinnedBuffer& buffer, const StreamState& stream);
  void release(PinnedBuffer& buffer) noexcept;
  void mark(PinnedBuffer& buffer, const StreamState& stream, const Describe& what);

  DeviceState& device_;
  const bool is_coherent_;  ///< the device uses the page tables of the host
  Limits limits_;
  std::mutex mutex_;  ///< protects the fields below
  std::vector<std::unique_ptr<PinnedBuffer>> buffers_;
  std::uint64_t uses_ = 0;
  std::uint64_t requests_ = 0;  ///< counts requests while `buffers_` is below its limit
  /// The value of `requests_` from which on a buffer may be allocated.
  std::uint64_t retry_pinning_at_ = 0;
};

}  // namespace sinter
