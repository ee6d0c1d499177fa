// Pinned memory that copies between a device and pageable memory of the host go through, so that
// the host need not wait for what is on the stream before them.
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

/// A few pieces of pinned memory, made when they are first needed and used in turn. Usable from any
/// thread; a copy waits for pieces on its own stream alone, as the driver's would, and for nobody
/// else's: what finds no piece is left to the driver.
class Staging {
 public:
  /// What a copy is, for errors.
  using Words = std::function<std::string()>;
  struct Limits {
    std::size_t piece_bytes = std::size_t{4} << 20;
    std::size_t pieces = 4;
    /// Smaller copies are the driver's: it takes up to 64 KiB from the host at once, without
    /// waiting for the stream ("Asynchronous Concurrent Execution" in the CUDA Programming Guide).
    std::size_t least_bytes = (std::size_t{64} << 10) + 1;
  };
  static constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

  explicit Staging(DeviceState& device);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Puts copies of the first bytes on `stream`, which is not being captured, and returns of how
  /// many: `from` may change then as far as these go. Throws DriverError.
  std::size_t upload(CUdeviceptr to, const void* from, std::size_t bytes, const StreamState& stream,
                     const Words& what);
  /// The same to `to`, where these bytes are when it returns.
  std::size_t download(void* to, CUdeviceptr from, std::size_t bytes, const StreamState& stream,
                       const Words& what);

  /// While nobody copies: gives back the pieces that there are.
  void set_limits(const Limits& limits);

 private:
  struct Piece;
  class Held;

  bool is_for(std::size_t bytes, const void* host) const;
  /// One that nothing uses, for this thread alone; null if there is none.
  Piece* take(const StreamState& stream);
  Piece* choose(const StreamState& stream);
  bool is_free(Piece& piece, const StreamState& stream);
  void put_back(Piece& piece) noexcept;
  void mark(Piece& piece, const StreamState& stream, const Words& what);

  DeviceState& device_;
  Limits limits_;
  std::mutex mutex_;  ///< of what follows
  std::vector<std::unique_ptr<Piece>> pieces_;
  std::uint64_t turn_ = 0;
  std::uint64_t chosen_ = 0;    ///< how often a piece was asked for while more might be made
  std::uint64_t pin_from_ = 0;  ///< `chosen_` from which on one may be made
};

}  // namespace sinter
