// MBarrierCounts: the counts of an mbarrier object and the rules of its phases.
#pragma once

#include <cstdint>
#include <string>

namespace sinter::virtual_gpu {

/// PTX ISA manual, sections 9.7.13.15.2 to 9.7.13.15.7. Operations that the manual leaves undefined
/// return a description of the problem, others an empty string.
class MBarrierCounts {
 public:
  static constexpr std::uint32_t kLargest = (1 << 20) - 1;

  [[nodiscard]] std::string init(std::uint32_t count);
  /// `must_not_complete` is `.noComplete`.
  [[nodiscard]] std::string arrive(std::uint32_t count, bool must_not_complete = false);
  /// Lowers the number of expected arrivals of later phases.
  [[nodiscard]] std::string drop(std::uint32_t count);
  /// One more pending arrival in this phase.
  [[nodiscard]] std::string increment();
  [[nodiscard]] std::string expect(std::uint32_t bytes);
  [[nodiscard]] std::string complete(std::uint32_t bytes);
  /// Begins the next phase if the current one is complete.
  bool advance();

  std::uint64_t phase() const { return phase_; }
  std::uint32_t pending() const { return pending_; }
  std::uint32_t expected() const { return expected_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::string change_bytes(std::int64_t change);

  std::uint32_t expected_ = 0, pending_ = 0;
  std::int64_t bytes_ = 0;  ///< the tx-count
  std::uint64_t phase_ = 0;
};

}  // namespace sinter::virtual_gpu
