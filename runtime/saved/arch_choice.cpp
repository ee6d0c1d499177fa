#include "runtime/saved/arch_choice.h"

#include <algorithm>
#include <charconv>

namespace sinter {

namespace {

/// 90 of `sm_90`; 0 of anything else.
int arch_number(std::string_view arch) {
  constexpr std::string_view kPrefix = "sm_";
  if (!arch.starts_with(kPrefix)) return 0;
  const std::string_view digits = arch.substr(kPrefix.size());
  int number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  return error == std::errc{} && stop == end && number > 0 ? number : 0;
}

/// CUDA C++ Programming Guide, binary compatibility: cubins do not run across desktop and embedded
/// systems. The guide does not mention 88. Treating it as embedded may cost an extra image, but
/// never loads a wrong one.
bool is_embedded(int number) {
  constexpr int kEmbedded[] = {53, 62, 72, 87, 88, 101, 110};
  return std::ranges::find(kEmbedded, number) != std::end(kEmbedded);
}

}  // namespace

bool runs_on(std::string_view stored, std::string_view arch) {
  if (stored == arch) return true;
  const int from = arch_number(stored);
  const int to = arch_number(arch);
  if (from == 0 || to == 0 || is_embedded(from) || is_embedded(to)) return false;
  return from / 10 == to / 10 && from <= to;
}

std::vector<std::size_t> archs_of_older_ptx(std::span<const std::string> stored,
                                            std::string_view arch) {
  std::vector<std::size_t> older;
  for (std::size_t i = 0; i < stored.size(); ++i)
    if (const int from = arch_number(stored[i]); from > 0 && from <= arch_number(arch))
      older.push_back(i);
  std::ranges::stable_sort(older, std::ranges::greater(),
                           [&](std::size_t i) { return arch_number(stored[i]); });
  return older;
}

std::optional<std::size_t> best_arch(std::span<const std::string> stored, std::string_view arch) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (!runs_on(stored[i], arch)) continue;
    if (!best || arch_number(stored[i]) > arch_number(stored[*best])) best = i;
  }
  return best;
}

}  // namespace sinter
