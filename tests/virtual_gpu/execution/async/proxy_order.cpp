#include "tests/virtual_gpu/execution/async/proxy_order.h"

#include <algorithm>

#include "tests/virtual_gpu/program/handlers.h"

namespace sinter::virtual_gpu {

namespace {

constexpr std::uint64_t kOrderedWord = 4;

}  // namespace

void ProxyOrder::drop_word(std::uint64_t word) {
  const auto found = words_.find(word);
  if (found == words_.end()) return;
  std::map<Key, Writes>& all = writes_of(found->second.is_shared);
  const auto writes = all.find(found->second.key);
  if (--writes->second.words == 0) all.erase(writes);
  words_.erase(found);
}

void ProxyOrder::write(std::uint64_t address, std::uint64_t bytes, const AccessStamp& stamp,
                       bool is_shared) {
  const auto fences = fences_.find({stamp.segment, stamp.thread});
  const Key key = {stamp.segment, stamp.thread, stamp.time, stamp.line,
                   fences == fences_.end() ? 0 : fences->second};
  for (std::uint64_t word = address / kOrderedWord; word * kOrderedWord < address + bytes; ++word) {
    const auto known = words_.find(word);
    if (known != words_.end() && known->second == Word{key, is_shared}) continue;
    drop_word(word);
    Writes& writes = writes_of(is_shared)[key];
    writes.stamp = stamp;
    ++writes.words;
    words_[word] = {key, is_shared};
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
  for (const bool is_shared : {true, false}) {
    if (!(spaces & (is_shared ? handlers::ProxyFence::kShared : handlers::ProxyFence::kGlobal)))
      continue;
    for (auto& [key, writes] : writes_of(is_shared)) {
      if (!order.is_before(writes.stamp, thread)) continue;
      // A fence that is ordered before this one is enough.
      if (!is_fenced(writes, thread, order)) writes.fences.push_back(stamp);
    }
  }
}

std::optional<AccessStamp> ProxyOrder::find_unfenced(std::uint64_t address, std::uint64_t bytes,
                                                     const ThreadClock& thread,
                                                     const HappensBefore& order) const {
  const Word* last = nullptr;
  for (std::uint64_t word = address / kOrderedWord; word * kOrderedWord < address + bytes; ++word) {
    const auto found = words_.find(word);
    if (found == words_.end() || (last && *last == found->second)) continue;
    const Writes& writes = (found->second.is_shared ? shared_ : global_).at(found->second.key);
    if (!is_fenced(writes, thread, order)) return writes.stamp;
    last = &found->second;
  }
  return std::nullopt;
}

void ProxyOrder::forget(std::uint64_t address, std::uint64_t bytes) {
  for (std::uint64_t word = address / kOrderedWord; word * kOrderedWord < address + bytes; ++word)
    drop_word(word);
}

}  // namespace sinter::virtual_gpu
