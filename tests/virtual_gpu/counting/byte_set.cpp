#include "tests/virtual_gpu/counting/byte_set.h"

#include <algorithm>
#include <bit>

namespace sinter::virtual_gpu {

void ByteSet::add(const void* allocation, std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return;
  if (allocation != last_ || !last_words_) {
    last_words_ = &words_[allocation];  // pointers to elements of this map stay valid
    last_ = allocation;
  }
  Words& words = *last_words_;
  const std::uint64_t end = offset + bytes;
  // Allocations are large and touched in ascending order, so the size grows in large steps.
  if (words.size() * 64 < end) words.resize(std::max<std::size_t>(end / 64 + 1, words.size() * 2));
  while (offset < end) {
    const std::uint64_t bit = offset % 64;
    const std::uint64_t here = std::min(end - offset, 64 - bit);
    words[offset / 64] |= (~std::uint64_t{0} >> (64 - here)) << bit;
    offset += here;
  }
}

std::uint64_t ByteSet::size() const {
  std::uint64_t bytes = 0;
  for (const auto& [allocation, words] : words_)
    for (const std::uint64_t word : words) bytes += static_cast<unsigned>(std::popcount(word));
  return bytes;
}

}  // namespace sinter::virtual_gpu
