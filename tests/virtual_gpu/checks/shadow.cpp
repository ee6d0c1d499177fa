// The bits of initialised bytes.
#include "tests/virtual_gpu/checks/shadow.h"

#include <bit>
#include <vector>

#include "tests/virtual_gpu/checks/shadow_page.h"

namespace sinter::virtual_gpu {

Shadow::Shadow(std::uint64_t bytes)
    : bytes_(bytes), pages_((bytes + kShadowPageBytes - 1) >> kShadowPageShift) {}
Shadow::Shadow(Shadow&&) noexcept = default;
Shadow& Shadow::operator=(Shadow&&) noexcept = default;
Shadow::~Shadow() = default;

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

}  // namespace sinter::virtual_gpu
