// EngineReplay: launches a CUDA Graph through the engines of its collectives.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/binding/group_communicators.h"
#include "runtime/execution/launch_set.h"

namespace sinter {

class EngineReplay {
 public:
  /// Both must outlive it.
  EngineReplay(const LaunchSet& launches, const GroupCommunicators& communicators)
      : launches_(launches), communicators_(communicators) {}

  /// Calls `launch`, which puts the graph on `stream`, through every engine. Throws UserError
  /// instead if a collective of an engine has failed.
  void launch(CUstream stream, const std::function<void()>& launch);

 private:
  const LaunchSet& launches_;
  const GroupCommunicators& communicators_;
  std::shared_ptr<const std::string> text_;  ///< made by the first launch
};

}  // namespace sinter
