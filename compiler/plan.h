// The compiler's table of contents: graph → scheduled program.
#pragma once

#include "compiler/kernel.h"
#include "compiler/target.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// How a graph is planned. Read once, passed down.
struct PlanOptions {
  bool fuse = true;                    ///< false: one kernel per node of the simplified graph
  Numerics numerics = {};              ///< handed on to whoever emits
  std::vector<std::string> skip = {};  ///< passes to leave out, by name
  /// Outputs by number that are views (ir/output_view.h) and stay unwritten; empty: none.
  std::vector<bool> left_out = {};
  bool verify = true;  ///< check the graph after each pass
  /// Called after each pass with its name and what came out, as text, when set.
  std::function<void(std::string_view pass, const std::string& text)> dump = {};
  /// Called after each pass with its name and duration, when set.
  std::function<void(std::string_view pass, double milliseconds)> timed = {};
};

/// The program of `graph` for `target` and the sizes in `facts`. The graph is not changed.
Program plan(const Graph& graph, const Target& target, const Facts& facts,
             const PlanOptions& options = {});

/// Where each buffer lies in the arena (bytes; -1 for bound buffers), for concrete sizes.
struct MemoryPlan {
  std::vector<std::int64_t> offsets;
  std::int64_t arena_bytes = 0;
};
MemoryPlan plan_memory(const Program& program, std::span<const std::int64_t> symbols);

/// The same for one program and many sizes: what does not depend on these is found out once.
class MemoryPlanner {
 public:
  /// `program` must outlive it.
  explicit MemoryPlanner(const Program& program);
  ~MemoryPlanner();
  MemoryPlanner(const MemoryPlanner&) = delete;
  MemoryPlanner& operator=(const MemoryPlanner&) = delete;

  MemoryPlan plan(std::span<const std::int64_t> symbols) const;

 private:
  struct Known;
  std::unique_ptr<const Known> known_;
};

/// True if `symbols` keep to every guard of `program`.
bool holds(const Program& program, std::span<const std::int64_t> symbols);
/// The first guard that does not hold, in words; empty if all do.
std::string broken_guard(const Program& program, std::span<const std::int64_t> symbols);

}  // namespace sinter
