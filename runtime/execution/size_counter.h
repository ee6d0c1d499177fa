// SizeCounter: how often a Context has run with the same sizes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace sinter {

class SizeCounter {
 public:
  /// `limit`: the number of runs with equal sizes that `count` reports; 0: none.
  explicit SizeCounter(std::int64_t limit) : limit_(limit) {}

  /// The next runs have these sizes, until the next call.
  void select(std::span<const std::int64_t> symbols);
  /// Counts a run. True if it is the `limit`th one with its sizes.
  bool count() { return --left_ == 0; }

 private:
  std::int64_t limit_;
  std::int64_t left_ = INT64_MAX;      ///< runs with `symbols_` until the limit
  std::vector<std::int64_t> symbols_;  ///< selected; empty: none
  std::map<std::vector<std::int64_t>, std::int64_t> left_of_;  ///< of sizes selected before
};

}  // namespace sinter
