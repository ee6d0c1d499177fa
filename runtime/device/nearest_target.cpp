#include "runtime/device/nearest_target.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace sinter {

NearestTarget nearest_target(std::string_view device_name, std::string_view arch) {
  std::string words(device_name);
  for (char& c : words) c = c == ' ' || c == '-' ? '_' : static_cast<char>(std::tolower(c));
  const Target* const by_arch = find_target(arch);
  NearestTarget nearest{.target =
                            by_arch ? by_arch : &nearest_older_target(compute_capability_of(arch))};
  int similarity = 0;
  for (const Target& known : known_targets()) {
    if (known.arch != arch) continue;
    const bool is_named = words.find(known.name) != std::string::npos;
    const int points = 1 + (is_named ? static_cast<int>(known.name.size()) : 0);
    if (points > similarity) nearest = {.target = &known, .is_named = is_named};
    similarity = std::max(similarity, points);
  }
  return nearest;
}

}  // namespace sinter
