// The pass runner: whatever is done to a graph or program on its way goes through here, and can be
// left out by name, timed, verified and dumped.
#pragma once

#include "compiler/program/kernel.h"
#include "compiler/program/plan_options.h"
#include "compiler/target/target.h"

#include <functional>
#include <span>
#include <string_view>

namespace sinter {

class Passes {
 public:
  /// `names` are the passes there are; throws UserError if `options.skip` names another one. Those
  /// in `needed` can not be skipped, since what follows stands on them.
  Passes(const PlanOptions& options, std::span<const std::string_view> names,
         std::span<const std::string_view> needed);

  bool is_skipped(std::string_view name) const;

  /// Runs `pass` on `graph` unless it is skipped; then times, verifies and dumps. An InternalError
  /// is thrown on with `failed in NAME` before it, or `failed after NAME` if the pass left a graph
  /// that is not valid.
  void run(std::string_view name, Graph& graph, const std::function<void()>& pass);
  /// The same for a pass that makes or changes a program. These always run: without fusing there is
  /// still a kernel to be made of every node.
  void run(std::string_view name, Program& program, const std::function<void()>& pass);

  /// `graph` is a copy of what the latest pass has left: what comes next is verified, not all
  /// again.
  void go_on_with(const GraphData& graph);

 private:
  void time(std::string_view name, const std::function<void()>& pass) const;
  void check(std::string_view name, const GraphData& graph);

  const PlanOptions& options_;
  const GraphData* verified_ = nullptr;  ///< the graph that was verified last,
  std::size_t verified_nodes_ = 0;       ///< and how many nodes it had
};

}  // namespace sinter
