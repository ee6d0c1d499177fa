// Pairs of groups that might become one, the best first.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

namespace sinter {

/// Two groups that might become one, when they had these versions.
struct Candidate {
  double saved = 0;  ///< bytes
  int a = 0;
  int b = 0;
  int version_a = 0;
  int version_b = 0;
  friend bool operator<(const Candidate& x, const Candidate& y) {
    // The queue gives the largest first; ties go to what was recorded first.
    if (x.saved != y.saved) return x.saved < y.saved;
    return std::pair(x.a, x.b) > std::pair(y.a, y.b);
  }
};

class MergeQueue {
 public:
  bool empty() const { return heap_.empty(); }

  /// Before the queue grows much, it forgets the candidates that have become stale: it takes no
  /// more memory than what may still be merged.
  void push(const Candidate& candidate, std::predicate<const Candidate&> auto is_stale) {
    if (heap_.size() >= most_) {
      std::erase_if(heap_, is_stale);
      std::make_heap(heap_.begin(), heap_.end());
      most_ = std::max(most_, heap_.size() * 2);
    }
    heap_.push_back(candidate);
    std::push_heap(heap_.begin(), heap_.end());
  }

  /// Takes the one that saves most out.
  Candidate pop() {
    std::pop_heap(heap_.begin(), heap_.end());
    const Candidate best = heap_.back();
    heap_.pop_back();
    return best;
  }

 private:
  std::vector<Candidate> heap_;
  std::size_t most_ = 1024;
};

}  // namespace sinter
