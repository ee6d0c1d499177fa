// The pass runner. Every transformation of a graph or program runs here as a named pass, which can
// be skipped, timed, verified and dumped.
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
  /// `names` lists all passes. Throws UserError if `options.skip` names an unknown pass, or one in
  /// `needed`: later passes depend on those.
  Passes(const PlanOptions& options, std::span<const std::string_view> names,
         std::span<const std::string_view> needed);

  bool is_skipped(std::string_view name) const;

  /// Runs `pass` on `graph` unless it is skipped, then times, verifies and dumps. Rethrows an
  /// InternalError with the prefix `failed in NAME`, or `failed after NAME` if the pass left an
  /// invalid graph.
  void run(std::string_view name, Graph& graph, const std::function<void()>& pass);
  /// The same for a pass that builds or changes a program. Such a pass always runs: even without
  /// fusion, each node needs a kernel.
  void run(std::string_view name, Program& program, const std::function<void()>& pass);

  /// Continues with `graph`, a copy of what the latest pass left. The next check verifies only
  /// nodes added after this call.
  void mark_verified(const GraphData& graph);

 private:
  void time(std::string_view name, const std::function<void()>& pass) const;
  void check(std::string_view name, const GraphData& graph);

  const PlanOptions& options_;
  const GraphData* verified_ = nullptr;  ///< the graph that was verified last
  std::size_t verified_nodes_ = 0;       ///< the number of nodes it had then
};

}  // namespace sinter
