// The memory plan: where each temporary of a program lies in the arena.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compiler/program/kernel.h"

namespace sinter {

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

}  // namespace sinter
