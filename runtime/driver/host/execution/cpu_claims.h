// CpuClaims: keeps the threads of a launch on different CPUs.
#pragma once

#include <atomic>
#include <cstdint>

namespace sinter::host {

/// The CPUs on which threads of a launch run. After a pause, a scheduler may leave two threads on
/// one CPU for tens of milliseconds, although another is idle.
class CpuClaims {
 public:
  /// Claims the CPU of the calling thread. Returns false if another thread has claimed it.
  bool claim() noexcept;
  /// The same, for a thread of the pool. It moves to a free CPU, if it may run on one.
  void claim_or_move() noexcept;

 private:
  static constexpr int kWords = 16;                  // CPU_SETSIZE bits
  std::atomic<std::uint64_t> claimed_[kWords] = {};  // one bit per CPU
};

}  // namespace sinter::host
