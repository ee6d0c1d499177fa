// Helpers for building lists of candidate schedules.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/program/schedule.h"

namespace sinter {

/// Maximum schedules that tuning tries per kernel.
inline constexpr std::size_t kMaxCandidates = 12;

/// Minimum threads of a block in a cluster: with fewer, barriers cost more than the work.
inline constexpr int kMinClusterThreads = 256;
/// Bytes per second at which one block combines states in memory.
inline constexpr double kCombineBandwidth = 80e9;

/// Collects schedules in order, each once, up to `limit`.
class CandidateList {
 public:
  explicit CandidateList(std::size_t limit = kMaxCandidates) : limit_(limit) {
    list_.reserve(limit);
  }

  void add(const Schedule& schedule);
  const std::vector<Schedule>& schedules() const { return list_; }
  std::vector<Schedule> take() { return std::move(list_); }

 private:
  std::size_t limit_;
  std::vector<Schedule> list_;
};

/// Bytes of the largest elements that loads and stores move along an axis.
int largest_element_along(const Body& body, int axis);
/// The number of loads that read as many elements as the iteration space has positions.
int full_loads(const Body& body);
/// Bytes that all loads and stores of `body` move, each element once per load or store.
double moved_bytes(const Body& body, const Facts& facts);

/// Bytes of the largest reduction state, at least the 8 bytes that a sum of any dtype may need.
std::int64_t widest_state(const Body& body);

}  // namespace sinter
