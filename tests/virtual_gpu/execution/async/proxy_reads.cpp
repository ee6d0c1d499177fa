#include "tests/virtual_gpu/execution/async/proxy_reads.h"

#include <algorithm>
#include <bit>

namespace sinter::virtual_gpu {

namespace {

constexpr std::uint64_t kReadWord = 4;

}  // namespace

void ProxyReads::read(std::uint64_t offset, std::uint64_t bytes, std::uint32_t warp, Mask lanes,
                      std::int32_t line) {
  const std::uint64_t end = (offset + bytes + kReadWord - 1) / kReadWord;
  if (words_.size() < end) words_.resize(end);
  if (fences_.size() <= warp) fences_.resize(warp + 1);
  // Lanes that passed different numbers of fences have records of their own.
  while (lanes) {
    const auto count = [&](int lane) {
      return fences_[warp][static_cast<std::size_t>(lane)].size();
    };
    const std::size_t fences = count(std::countr_zero(lanes));
    Mask same = 0;
    for (Mask rest = lanes; rest; rest &= rest - 1)
      if (count(std::countr_zero(rest)) == fences) same |= rest & -rest;
    lanes &= ~same;
    for (std::uint64_t word = offset / kReadWord; word < end; ++word) {
      std::vector<Read>& reads = words_[word];
      Read* known = nullptr;
      for (Read& read : reads) {
        if (read.warp != warp) continue;
        if (read.fences == fences)
          known = &read;
        else
          read.lanes &= ~same;
      }
      if (known) {
        known->lanes |= same;
        known->line = line;
      } else {
        std::erase_if(reads, [](const Read& read) { return read.lanes == 0; });
        reads.push_back({warp, static_cast<std::uint32_t>(fences), same, line});
      }
    }
  }
}

void ProxyReads::fence(std::uint32_t warp, std::uint32_t lane, const AccessStamp& stamp) {
  if (fences_.size() <= warp) fences_.resize(warp + 1);
  fences_[warp][lane].push_back(stamp);
}

std::optional<std::int32_t> ProxyReads::find_unfenced(std::uint64_t offset, std::uint64_t bytes,
                                                      const ThreadClock& thread,
                                                      const HappensBefore& order) const {
  const std::uint64_t end = std::min((offset + bytes + kReadWord - 1) / kReadWord, words_.size());
  for (std::uint64_t word = offset / kReadWord; word < end; ++word)
    for (const Read& read : words_[word])
      for (Mask rest = read.lanes; rest; rest &= rest - 1) {
        const auto& fences = fences_[read.warp][static_cast<std::size_t>(std::countr_zero(rest))];
        // Later fences of the thread are ordered before the copy only if the first one is.
        if (fences.size() <= read.fences || !order.is_before(fences[read.fences], thread))
          return read.line;
      }
  return std::nullopt;
}

void ProxyReads::forget(std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t end = std::min((offset + bytes + kReadWord - 1) / kReadWord, words_.size());
  for (std::uint64_t word = offset / kReadWord; word < end; ++word) words_[word].clear();
}

}  // namespace sinter::virtual_gpu
