#include "runtime/execution/size_counter.h"

#include <algorithm>

namespace sinter {

namespace {

/// Sizes beyond it are forgotten: a program with so many rarely repeats them.
constexpr std::size_t kMostSizes = 1024;

}  // namespace

void SizeCounter::select(std::span<const std::int64_t> symbols) {
  if (limit_ == 0 || std::ranges::equal(symbols, symbols_)) return;
  if (left_of_.size() == kMostSizes) left_of_.clear();
  if (!symbols_.empty()) left_of_[symbols_] = left_;
  symbols_.assign(symbols.begin(), symbols.end());
  const auto known = left_of_.find(symbols_);
  left_ = known == left_of_.end() ? limit_ : known->second;
}

}  // namespace sinter
