#include "compiler/horizontal/launch_boundaries.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sinter {

namespace {

/// What tells boundaries apart: two kernels of a launch, or two launches, and why they are two.
struct Between {
  bool is_inside = false;
  int from = 0;
  int to = 0;
  std::string_view reason;
  friend bool operator==(const Between&, const Between&) = default;
};

struct BetweenHash {
  std::size_t operator()(const Between& between) const {
    const std::uint64_t pair =
        static_cast<std::uint64_t>(between.from) << 32 | static_cast<std::uint32_t>(between.to);
    return std::hash<std::string_view>()(between.reason) ^ pair * 0xff51afd7ed558ccdULL;
  }
};

}  // namespace

void explain_boundaries(Program& program, const Launched& launched) {
  std::unordered_map<std::string_view, std::size_t> number_of;
  number_of.reserve(program.kernels.size());
  for (std::size_t i = 0; i < program.kernels.size(); ++i) number_of[program.kernels[i].name] = i;
  const auto name_of = [&](std::size_t kernel, bool as_section) {
    const std::string& launch =
        launched.names[static_cast<std::size_t>(launched.launch_of[kernel])];
    return as_section ? fmt::format("{}_{}", launch, launched.section_of[kernel]) : launch;
  };
  std::vector<Boundary> kept;
  kept.reserve(program.boundaries.size());
  std::unordered_map<Between, std::size_t, BetweenHash> known;  // its place among `kept`
  for (Boundary& boundary : program.boundaries) {
    const std::size_t producer = number_of.at(boundary.producer);
    const std::size_t consumer = number_of.at(boundary.consumer);
    const int from = launched.launch_of[producer];
    const int to = launched.launch_of[consumer];
    boundary.is_inside = from == to;
    if (to == from + 1) boundary.reason += "; " + launched.refusals[static_cast<std::size_t>(to)];
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
