// What all lists of candidate schedules are made with.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/schedule.h"

namespace sinter {

/// A kernel is tuned over no more schedules.
inline constexpr std::size_t kMostCandidates = 12;

/// Collects schedules in order, each once, up to kMostCandidates.
class CandidateList {
 public:
  CandidateList() { list_.reserve(kMostCandidates); }

  void add(const Schedule& schedule);
  const std::vector<Schedule>& schedules() const { return list_; }
  std::vector<Schedule> take() { return std::move(list_); }

 private:
  std::vector<Schedule> list_;
};

/// The size of the largest elements that move along an axis, in memory.
struct Sizes {
  int largest = 1;
};
Sizes sizes_along(const Body& body, int axis);
/// Loads that are not broadcast.
int streams(const Body& body);

/// Bytes of the largest accumulator, at least those of a sum of any dtype.
std::int64_t widest_state(const Body& body);

}  // namespace sinter
