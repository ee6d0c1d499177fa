// Shadow::Page: the granules of 1 KiB of memory, and the bits of its initialised bytes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>

#include "tests/virtual_gpu/checks/granule.h"
#include "tests/virtual_gpu/checks/shadow.h"

namespace sinter::virtual_gpu {

inline constexpr int kShadowPageShift = 10;
inline constexpr std::uint64_t kShadowPageBytes = std::uint64_t{1} << kShadowPageShift;

/// `count` bits from `first` on, at most 64, within one word.
constexpr std::uint64_t word_bits(std::uint64_t first, std::uint64_t count) {
  return (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << first;
}

/// Calls `visit(word, mask)` for the words of 64 bits that the range touches, until it returns
/// false.
template <class Visit>
void for_each_word(std::uint64_t first, std::uint64_t count, Visit visit) {
  while (count) {
    const std::uint64_t part = std::min(count, 64 - first % 64);
    if (!visit(first / 64, word_bits(first % 64, part))) return;
    first += part;
    count -= part;
  }
}

struct Shadow::Page {
  /// The granules of the range; refines the page if the range does not cover whole ones.
  /// `limit`: the bytes of the page that exist.
  std::span<Granule> granules(std::uint64_t first, std::uint64_t count, std::uint64_t limit) {
    const std::uint64_t end = first + count == limit ? kShadowPageBytes : first + count;
    const int needed = std::countr_zero(first | end);
    if (needed < shift) refine_to(needed);
    Granule* const all = refined ? refined.get() : &whole;
    return {all + (first >> shift), all + (((first + count - 1) >> shift) + 1)};
  }

  void refine_to(int finer_shift);
  /// Merges granules with equal records.
  void coarsen();
  /// Says that accesses of whole warps replaced the records of so many bytes. They may leave many
  /// equal granules.
  void note_rows(std::uint64_t bytes) {
    constexpr int kFineShift = 4;
    if (shift > kFineShift) return;
    bytes_of_rows += static_cast<std::uint32_t>(bytes);
    if (bytes_of_rows >= bytes_until_coarsening) coarsen();
  }
  /// Makes one granule of a page whose granules are all equal.
  void unite() {
    if (!refined) return;
    whole = refined[0];
    refined.reset();
    shift = kShadowPageShift;
  }

  void initialize(std::uint64_t first, std::uint64_t count) {
    if (is_initialized) return;
    for_each_word(first, count, [&](std::uint64_t word, std::uint64_t mask) {
      initialized[word] |= mask;
      return true;
    });
    is_initialized = std::all_of(initialized.rbegin(), initialized.rend(),
                                 [](std::uint64_t word) { return word == ~std::uint64_t{0}; });
  }

  Granule whole;
  std::unique_ptr<Granule[]> refined;
  int shift = kShadowPageShift;
  std::uint32_t bytes_of_rows = 0;
  std::uint32_t bytes_until_coarsening = kShadowPageBytes;
  bool is_initialized = false;  ///< all bytes; else see the bits
  std::array<std::uint64_t, kShadowPageBytes / 64> initialized = {};
};

template <class Visit>
void Shadow::for_each_page(std::uint64_t offset, std::uint64_t bytes, Visit visit) {
  while (bytes) {
    const std::uint64_t first = offset % kShadowPageBytes;
    const std::uint64_t count = std::min(bytes, kShadowPageBytes - first);
    if (!visit(offset >> kShadowPageShift, first, count)) return;
    offset += count;
    bytes -= count;
  }
}

inline Shadow::Page& Shadow::page(std::uint64_t index) {
  std::unique_ptr<Page>& page = pages_.at(index);
  if (!page) page = std::make_unique<Page>();
  return *page;
}

}  // namespace sinter::virtual_gpu
