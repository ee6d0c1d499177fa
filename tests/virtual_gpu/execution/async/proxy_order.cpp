#include "tests/virtual_gpu/execution/async/proxy_order.h"

#include <algorithm>

#include "tests/virtual_gpu/program/handlers.h"

namespace sinter::virtual_gpu {

namespace {

constexpr std::uint64_t kWord = 4;

}  // namespace

void ProxyOrder::drop_word(std::uint64_t word) {
  const auto found = words_.find(word);
  if (found == words_.end()) return;
  const auto writes = writes_.find(found->second);
  if (--writes->second.words == 0) writes_.erase(writes);
  words_.erase(found);
}

void ProxyOrder::write(std::uint64_t address, std::uint64_t bytes, const AccessStamp& stamp,
                       bool is_shared) {
  const auto fences = fences_.find({stamp.segment, stamp.thread});
  const Key key = {stamp.segment, stamp.thread, stamp.time, stamp.line,
                   fences == fences_.end() ? 0 : fences->second};
  for (std::uint64_t word = address / kWord; word * kWord < address + bytes; ++word) {
    const auto known = words_.find(word);
    if (known != words_.end() && known->second == key) continue;
    drop_word(word);
    Writes& writes = writes_[key];
    writes.stamp = stamp;
    writes.is_shared = is_shared;
    ++writes.words;
    words_[word] = key;
  }
}

bool ProxyOrder::is_fenced(const Writes& writes, const ThreadClock& thread,
                           const HappensBefore& order) const {
  return std::ranges::any_of(
      writes.fences, [&](const AccessStamp& fence) { return order.is_before(fence, thread); });
}

void ProxyOrder::fence(const ThreadClock& thread, const HappensBefore& order, int spaces,
                       std::int32_t line) {
  const AccessStamp stamp = order.stamp(thread, line);
  ++fences_[{stamp.segment, stamp.thread}];
  for (auto& [key, writes] : writes_) {
    const int space =
        writes.is_shared ? handlers::ProxyFence::kShared : handlers::ProxyFence::kGlobal;
    if (!(spaces & space) || !order.is_before(writes.stamp, thread)) continue;
    // A fence that is ordered before this one is enough.
    if (!is_fenced(writes, thread, order)) writes.fences.push_back(stamp);
  }
}

std::optional<AccessStamp> ProxyOrder::find_unfenced(std::uint64_t address, std::uint64_t bytes,
                                                     const ThreadClock& thread,
                                                     const HappensBefore& order) const {
  const Key* last = nullptr;
  for (std::uint64_t word = address / kWord; word * kWord < address + bytes; ++word) {
    const auto found = words_.find(word);
    if (found == words_.end() || (last && *last == found->second)) continue;
    const Writes& writes = writes_.at(found->second);
    if (!is_fenced(writes, thread, order)) return writes.stamp;
    last = &found->second;
  }
  return std::nullopt;
}

void ProxyOrder::forget(std::uint64_t address, std::uint64_t bytes) {
  for (std::uint64_t word = address / kWord; word * kWord < address + bytes; ++word)
    drop_word(word);
}

}  // namespace sinter::virtual_gpu
