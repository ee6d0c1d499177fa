#include "runtime/support/quartiles.h"

#include <algorithm>
#include <cmath>

namespace sinter {

Quartiles quartiles_of(std::vector<double> numbers) {
  if (numbers.empty()) return {};
  std::ranges::sort(numbers);
  const auto at = [&](double share) {
    const double position = share * static_cast<double>(numbers.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, numbers.size() - 1);
    return numbers[below] + (position - std::floor(position)) * (numbers[above] - numbers[below]);
  };
  return {.lower = at(0.25), .median = at(0.5), .upper = at(0.75)};
}

}  // namespace sinter
