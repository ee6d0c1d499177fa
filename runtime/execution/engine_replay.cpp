#include "runtime/execution/engine_replay.h"

#include <fmt/format.h>

namespace sinter {

namespace {

/// The collectives that a message names; it counts the others.
constexpr std::size_t kMostNamed = 4;

/// `a replay with all_reduce (recorded at a.cpp:3), all_gather (recorded at a.cpp:7) and 5 more`
std::string replay_text(const LaunchSet& launches) {
  std::string text;
  std::size_t count = 0;
  for (const PreparedLaunch& launch : launches.launches()) {
    if (!launch.call || !launch.call->binding().is_collective() || ++count > kMostNamed) continue;
    const OpaqueBinding& binding = launch.call->binding();
    text += fmt::format("{}{} (recorded at {})", text.empty() ? "" : ", ", binding.display_name(),
                        binding.call().place);
  }
  if (count > kMostNamed) text += fmt::format(" and {} more", count - kMostNamed);
  return "a replay with " + text;
}

}  // namespace

void EngineReplay::launch(CUstream stream, const std::function<void()>& launch) {
  if (!text_) text_ = std::make_shared<const std::string>(replay_text(launches_));
  std::function<void()> inner = launch;
  for (const auto& [group, engine] : communicators_.engines())
    inner = [this, stream, engine = engine.get(), launch = std::move(inner)] {
      engine->replay({.stream = stream, .collectives = text_, .launch = launch});
    };
  inner();
}

}  // namespace sinter
