// The memory plan: the offset of each temporary of a program in the arena.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compiler/program/kernel.h"

namespace sinter {

/// The offset of each buffer in the arena for concrete sizes, in bytes; -1 for bound buffers.
struct MemoryPlan {
  std::vector<std::int64_t> offsets;
  std::int64_t arena_bytes = 0;
};
MemoryPlan plan_memory(const Program& program, std::span<const std::int64_t> symbols);

/// Plans memory for one program and many sizes. Computes everything that is independent of the
/// sizes once.
class MemoryPlanner {
 public:
  /// `program` must outlive the planner.
  explicit MemoryPlanner(const Program& program);
  ~MemoryPlanner();
  MemoryPlanner(const MemoryPlanner&) = delete;
  MemoryPlanner& operator=(const MemoryPlanner&) = delete;

  MemoryPlan plan(std::span<const std::int64_t> symbols) const;

 private:
  struct SizeIndependent;
  std::unique_ptr<const SizeIndependent> size_independent_;
};

}  // namespace sinter
