#include "runtime/device/staging.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "runtime/device/device_state.h"
#include "runtime/support/fork_guard.h"

namespace sinter {

namespace {

/// How many pieces are asked for before another one is made where the last could not be: asking the
/// driver in vain costs more than the copy.
constexpr std::uint64_t kChoicesWithoutPinning = 100;

}  // namespace

/// Pinned memory, and the copy that used it last.
struct Staging::Piece {
  explicit Piece(DeviceState& device) : used(device, /*handle=*/nullptr) {}
  ~Piece() {
    if (!memory || is_forked()) return;
    const ReleaseContext current(used.device);
    log_failed_release(used.device.driver, used.device.driver.cuMemFreeHost(memory),
                       "cuMemFreeHost");
  }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;

  EventState used;  ///< behind the copy
  void* memory = nullptr;
  std::uint64_t stream = 0;  ///< of the copy; 0: none is under way
  std::uint64_t turn = 0;    ///< when it was last taken
  bool is_held = false;
  bool is_lost = false;  ///< nobody knows when its copy ends
};

/// A piece for as long as a thread fills or empties it.
class Staging::Held {
 public:
  Held(Staging& staging, Piece* piece) : staging_(&staging), piece_(piece) {}
  Held(Held&& other) noexcept
      : staging_(other.staging_), piece_(std::exchange(other.piece_, nullptr)) {}
  ~Held() {
    if (piece_) staging_->put_back(*piece_);
  }
  Held& operator=(const Held&) = delete;

  explicit operator bool() const { return piece_ != nullptr; }
  Piece* operator->() const { return piece_; }
  Piece& operator*() const { return *piece_; }

 private:
  Staging* staging_;
  Piece* piece_;
};

Staging::Staging(DeviceState& device) : device_(device) {
  // A copy of the host device is one of the CPU's: another one is only a cost.
  if (device.is_host) limits_.least_bytes = kNever;
}

Staging::~Staging() = default;

void Staging::set_limits(const Limits& limits) {
  const std::lock_guard lock(mutex_);
  pieces_.clear();
  limits_ = limits;
  pin_from_ = chosen_;
}

bool Staging::is_for(std::size_t bytes, const void* host) const {
  if (bytes < limits_.least_bytes) return false;
  CUmemorytype type{};
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
  void* values[] = {&type};
  const CUresult result = device_.driver.cuPointerGetAttributes(
      1, attributes, values, reinterpret_cast<CUdeviceptr>(host));
  return result == CUDA_SUCCESS && type == CUmemorytype{};  // of no memory that the driver knows
}

std::size_t Staging::upload(CUdeviceptr to, const void* from, std::size_t bytes,
                            const StreamState& stream, const Words& what) {
  if (!is_for(bytes, from)) return 0;
  std::size_t done = 0;
  while (done < bytes) {
    const Held piece(*this, take(stream));
    if (!piece) break;
    const std::size_t part = std::min(bytes - done, limits_.piece_bytes);
    std::memcpy(piece->memory, static_cast<const std::byte*>(from) + done, part);
    check(device_.driver,
          device_.driver.cuMemcpyHtoDAsync(to + done, piece->memory, part, stream.handle),
          "cuMemcpyHtoDAsync", what);
    mark(*piece, stream, what);
    done += part;
  }
  return done;
}

std::size_t Staging::download(void* to, CUdeviceptr from, std::size_t bytes,
                              const StreamState& stream, const Words& what) {
  if (!is_for(bytes, to)) return 0;
  struct Part {
    Held piece;
    std::size_t at, bytes;
  };
  std::deque<Part> under_way;
  const auto empty_first = [&] {
    Part& part = under_way.front();
    check(device_.driver, device_.driver.cuEventSynchronize(part.piece->used.handle),
          "cuEventSynchronize", what);
    part.piece->stream = 0;
    std::memcpy(static_cast<std::byte*>(to) + part.at, part.piece->memory, part.bytes);
    under_way.pop_front();
  };
  std::size_t done = 0;
  while (done < bytes) {
    // One is emptied while the next is filled.
    if (under_way.size() == 2) empty_first();
    Held piece(*this, take(stream));
    if (!piece) break;
    const std::size_t part = std::min(bytes - done, limits_.piece_bytes);
    check(device_.driver,
          device_.driver.cuMemcpyDtoHAsync(piece->memory, from + done, part, stream.handle),
          "cuMemcpyDtoHAsync", what);
    mark(*piece, stream, what);
    under_way.push_back({.piece = std::move(piece), .at = done, .bytes = part});
    done += part;
  }
  while (!under_way.empty()) empty_first();
  return done;
}

void Staging::mark(Piece& piece, const StreamState& stream, const Words& what) {
  const CUresult result = device_.driver.cuEventRecord(piece.used.handle, stream.handle);
  piece.is_lost = result != CUDA_SUCCESS;
  piece.stream = stream.id;
  check(device_.driver, result, "cuEventRecord", what);
}

Staging::Piece* Staging::take(const StreamState& stream) {
  Piece* piece = nullptr;
  {
    const std::lock_guard lock(mutex_);
    piece = choose(stream);
    if (!piece) return nullptr;
    piece->is_held = true;
    piece->turn = ++turn_;
  }
  if (is_free(*piece, stream)) return piece;
  put_back(*piece);
  return nullptr;
}

/// One that no copy uses, a new one, the oldest of the stream's own, or, to be asked whether it is
/// free by now, the oldest of all.
Staging::Piece* Staging::choose(const StreamState& stream) {
  Piece* best = nullptr;
  const auto rank = [&](const Piece& piece) {
    return piece.stream == 0 ? 0 : piece.stream == stream.id ? 1 : 2;
  };
  for (const std::unique_ptr<Piece>& piece : pieces_) {
    if (piece->is_held || piece->is_lost) continue;
    if (!best || rank(*piece) < rank(*best) ||
        (rank(*piece) == rank(*best) && piece->turn < best->turn))
      best = piece.get();
  }
  const bool is_full = pieces_.size() >= limits_.pieces || ++chosen_ < pin_from_;
  if ((best && rank(*best) == 0) || is_full) return best;
  auto made = std::make_unique<Piece>(device_);
  pieces_.reserve(limits_.pieces);
  const Driver& driver = device_.driver;
  if (driver.cuMemHostAlloc(&made->memory, limits_.piece_bytes, kMemHostAllocPortable) !=
          CUDA_SUCCESS ||
      driver.cuEventCreate(&made->used.handle, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    pin_from_ = chosen_ + kChoicesWithoutPinning;
    return best;
  }
  pieces_.push_back(std::move(made));
  return pieces_.back().get();
}

bool Staging::is_free(Piece& piece, const StreamState& stream) {
  if (piece.stream == 0) return true;
  const Driver& driver = device_.driver;
  const CUresult result = piece.stream == stream.id ? driver.cuEventSynchronize(piece.used.handle)
                                                    : driver.cuEventQuery(piece.used.handle);
  if (result == CUDA_SUCCESS) piece.stream = 0;
  return result == CUDA_SUCCESS;
}

void Staging::put_back(Piece& piece) noexcept {
  const std::lock_guard lock(mutex_);
  piece.is_held = false;
}

}  // namespace sinter
