// Pages of granules, and the bits of initialised bytes.
#include "tests/virtual_gpu/checks/shadow.h"

#include <algorithm>
#include <array>
#include <bit>

#include "tests/virtual_gpu/checks/granule.h"

namespace sinter::virtual_gpu {
namespace {

constexpr int kShadowPageShift = 10;
constexpr std::uint64_t kShadowPageBytes = std::uint64_t{1} << kShadowPageShift;

/// The next finer size of granules, as a power of two.
constexpr int finer_shift(int shift) {
  return shift == kShadowPageShift ? 4 : shift == 4 ? 2 : shift - 1;
}

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

}  // namespace

struct Shadow::Page {
  /// The granules of the range; refines the page if the range does not cover whole ones.
  /// `limit`: the bytes of the page that exist.
  std::span<Granule> granules(std::uint64_t first, std::uint64_t count, std::uint64_t limit) {
    const std::uint64_t end = first + count == limit ? kShadowPageBytes : first + count;
    while ((first | end) & ((std::uint64_t{1} << shift) - 1)) refine();
    Granule* const all = refined ? refined.get() : &whole;
    return {all + (first >> shift), all + (((first + count - 1) >> shift) + 1)};
  }

  void refine() {
    const int next = finer_shift(shift);
    const std::uint64_t old_count = kShadowPageBytes >> shift;
    const std::uint64_t parts = std::uint64_t{1} << (shift - next);
    auto finer_ones = std::make_unique<Granule[]>(old_count * parts);
    for (std::uint64_t i = 0; i < old_count * parts; ++i)
      finer_ones[i] = refined ? refined[i / parts] : whole;
    refined = std::move(finer_ones);
    shift = next;
  }

  /// After a weak write to the whole page, all granules are equal.
  void coarsen() {
    if (!refined) return;
    whole = refined[0];
    refined.reset();
    shift = kShadowPageShift;
  }

  void initialize(std::uint64_t first, std::uint64_t count) {
    if (is_initialized) return;
    is_initialized = count == kShadowPageBytes;
    for_each_word(first, count, [&](std::uint64_t word, std::uint64_t mask) {
      initialized[word] |= mask;
      return true;
    });
  }

  Granule whole;
  std::unique_ptr<Granule[]> refined;
  int shift = kShadowPageShift;
  bool is_initialized = false;  ///< all bytes; else see the bits
  std::array<std::uint64_t, kShadowPageBytes / 64> initialized = {};
};

Shadow::Shadow(std::uint64_t bytes)
    : bytes_(bytes), pages_((bytes + kShadowPageBytes - 1) >> kShadowPageShift) {}
Shadow::Shadow(Shadow&&) noexcept = default;
Shadow& Shadow::operator=(Shadow&&) noexcept = default;
Shadow::~Shadow() = default;

inline Shadow::Page& Shadow::page(std::uint64_t index) {
  std::unique_ptr<Page>& page = pages_.at(index);
  if (!page) page = std::make_unique<Page>();
  return *page;
}

/// The bytes of a page that exist.
inline std::uint64_t Shadow::limit_of(std::uint64_t index) const {
  return std::min(kShadowPageBytes, bytes_ - (index << kShadowPageShift));
}

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

// ---- Initialisation ----

std::optional<std::uint64_t> Shadow::first_uninitialized(std::uint64_t offset,
                                                         std::uint64_t bytes) const {
  std::optional<std::uint64_t> result;
  for_each_page(offset, bytes, [&](std::uint64_t index, std::uint64_t first, std::uint64_t count) {
    const Page* page = pages_.at(index).get();
    if (page && page->is_initialized) return true;
    if (!page) {
      result = (index << kShadowPageShift) + first;
      return false;
    }
    for_each_word(first, count, [&](std::uint64_t word, std::uint64_t mask) {
      const std::uint64_t missing = mask & ~page->initialized[word];
      if (missing) result = (index << kShadowPageShift) + word * 64 + std::countr_zero(missing);
      return !missing;
    });
    return !result;
  });
  return result;
}

void Shadow::mark_initialized(std::uint64_t offset, std::uint64_t bytes) {
  for_each_page(offset, bytes, [&](std::uint64_t index, std::uint64_t first, std::uint64_t count) {
    page(index).initialize(first, count);
    return true;
  });
}

void Shadow::mark_uninitialized(std::uint64_t offset, std::uint64_t bytes) {
  for_each_page(offset, bytes, [&](std::uint64_t index, std::uint64_t first, std::uint64_t count) {
    Page* page = pages_.at(index).get();
    if (!page) return true;
    if (page->is_initialized) page->initialized.fill(~std::uint64_t{0});
    page->is_initialized = false;
    for_each_word(first, count, [&](std::uint64_t word, std::uint64_t mask) {
      page->initialized[word] &= ~mask;
      return true;
    });
    return true;
  });
}

void Shadow::copy_initialization(std::uint64_t offset, const Shadow& from,
                                 std::uint64_t from_offset, std::uint64_t bytes) {
  // The runs of initialised bytes, found before the marks change: the ranges may overlap.
  struct Run {
    std::uint64_t first, count;
  };
  std::vector<Run> runs;
  for (std::uint64_t at = 0; at < bytes;) {
    const auto gap = from.first_uninitialized(from_offset + at, bytes - at);
    const std::uint64_t end = gap ? *gap - from_offset : bytes;
    if (end > at) runs.push_back({.first = at, .count = end - at});
    at = end;
    if (gap) at += from.uninitialized_bytes(*gap, bytes - end);
  }
  mark_uninitialized(offset, bytes);
  for (const Run& run : runs) mark_initialized(offset + run.first, run.count);
}

/// The uninitialised bytes in a row from the offset on, at most `bytes`.
std::uint64_t Shadow::uninitialized_bytes(std::uint64_t offset, std::uint64_t bytes) const {
  std::uint64_t result = bytes;
  for_each_page(offset, bytes, [&](std::uint64_t index, std::uint64_t first, std::uint64_t count) {
    const Page* page = pages_.at(index).get();
    if (!page) return true;
    const std::uint64_t start = index << kShadowPageShift;
    if (page->is_initialized) result = start + first - offset;
    if (page->is_initialized) return false;
    for_each_word(first, count, [&](std::uint64_t word, std::uint64_t mask) {
      const std::uint64_t present = mask & page->initialized[word];
      if (present) result = start + word * 64 + std::countr_zero(present) - offset;
      return !present;
    });
    return result == bytes;
  });
  return result;
}

// ---- Accesses ----

namespace {

Conflict conflict_of(const GranuleConflict& found, const ThreadClock& thread,
                     std::uint64_t offset) {
  const PastAccess& past = found.earlier;
  const auto lane = static_cast<std::uint32_t>(std::countr_zero(found.lanes));
  return {.earlier = {.segment = past.segment,
                      .thread = past.warp * std::uint32_t{kLanes} + lane,
                      .time = past.time,
                      .line = past.line},
          .earlier_is_write = past.has(AccessFlags::kWrite),
          .breaks_read_only = found.breaks_read_only,
          .offset = offset,
          .thread = thread.thread};
}

}  // namespace

/// The part of an access in one page. Marks written bytes as initialised.
inline std::optional<Conflict> Shadow::access_page(Page& page, std::uint64_t start,
                                                   std::uint64_t first, std::uint64_t count,
                                                   const Access& access, const ThreadClock& thread,
                                                   HappensBefore& order) {
  const std::span<Granule> granules =
      page.granules(first, count, limit_of(start >> kShadowPageShift));
  for (Granule& granule : granules) {
    if (granule.try_alone(access, thread)) continue;
    if (const auto found = granule.compare_and_record(access, thread, order)) {
      const auto skipped = static_cast<std::uint64_t>(&granule - granules.data()) << page.shift;
      return conflict_of(*found, thread, start + first + skipped);
    }
  }
  if (access.kind >= AccessKind::write) {
    page.initialize(first, count);
    const bool is_weak = access.kind == AccessKind::write && !access.is_strong;
    if (is_weak && granules.size() == kShadowPageBytes >> page.shift) page.coarsen();
  }
  return std::nullopt;
}

std::optional<Conflict> Shadow::access(const Access& access, const ThreadClock& thread,
                                       HappensBefore& order) {
  std::optional<Conflict> conflict;
  for_each_page(access.offset, access.bytes,
                [&](std::uint64_t index, std::uint64_t first, std::uint64_t count) {
                  conflict = access_page(page(index), index << kShadowPageShift, first, count,
                                         access, thread, order);
                  return !conflict;
                });
  return conflict;
}

std::optional<Conflict> Shadow::access_row(const Access& access, const BlockClock& block,
                                           std::uint32_t first_thread, Mask lanes,
                                           HappensBefore& order) {
  Page* current = nullptr;
  std::uint64_t current_start = 0;
  for (Mask rest = lanes; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const ThreadClock& thread = block.threads[first_thread + lane];
    const std::uint64_t offset = access.offset + lane * access.bytes;
    const std::uint64_t first = offset % kShadowPageBytes;
    std::optional<Conflict> conflict;
    if (first + access.bytes <= kShadowPageBytes) {
      if (!current || offset - first != current_start) {
        current_start = offset - first;
        current = &page(offset >> kShadowPageShift);
      }
      conflict = access_page(*current, current_start, first, access.bytes, access, thread, order);
    } else {
      Access part = access;
      part.offset = offset;
      conflict = this->access(part, thread, order);
    }
    if (conflict) return conflict;
  }
  return std::nullopt;
}

}  // namespace sinter::virtual_gpu
