#include "compiler/horizontal/launch_boundaries.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sinter {

namespace {

/// The identity of a boundary: two kernels of one launch, or two launches, and the reason.
struct BoundaryKey {
  bool is_inside = false;
  int from = 0;
  int to = 0;
  std::string_view reason;
  friend auto operator<=>(const BoundaryKey&, const BoundaryKey&) = default;
};

}  // namespace

void explain_boundaries(Program& program, const LaunchPlan& launches) {
  std::unordered_map<std::string_view, std::size_t> number_of;
  number_of.reserve(program.kernels.size());
  for (std::size_t i = 0; i < program.kernels.size(); ++i) number_of[program.kernels[i].name] = i;
  const auto name_of = [&](std::size_t kernel, bool as_section) {
    const std::string& launch =
        launches.names[static_cast<std::size_t>(launches.launch_of[kernel])];
    return as_section ? fmt::format("{}_{}", launch, launches.section_of[kernel]) : launch;
  };
  std::vector<Boundary> kept;
  kept.reserve(program.boundaries.size());
  std::map<BoundaryKey, std::size_t> known;  // index in `kept`
  for (Boundary& boundary : program.boundaries) {
    const std::size_t producer = number_of.at(boundary.producer);
    const std::size_t consumer = number_of.at(boundary.consumer);
    const int from = launches.launch_of[producer];
    const int to = launches.launch_of[consumer];
    boundary.is_inside = from == to;
    if (to == from + 1) boundary.reason += "; " + launches.refusals[static_cast<std::size_t>(to)];
    Boundary& next = kept.emplace_back(std::move(boundary));
    const auto [same, is_new] =
        known.try_emplace({.is_inside = next.is_inside,
                           .from = next.is_inside ? static_cast<int>(producer) : from,
                           .to = next.is_inside ? static_cast<int>(consumer) : to,
                           .reason = next.reason},
                          kept.size() - 1);
    if (!is_new) {
      kept[same->second].bytes += next.bytes;
      kept.pop_back();
      continue;
    }
    next.producer = name_of(producer, next.is_inside);
    next.consumer = name_of(consumer, next.is_inside);
  }
  program.boundaries = std::move(kept);
}

}  // namespace sinter
