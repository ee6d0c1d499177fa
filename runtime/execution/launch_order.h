// LaunchOrder: which kernels of a variant wait for which others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/execution/launch_set.h"

namespace sinter {

/// Kernel `before` must complete before kernel `after` starts.
struct LaunchEdge {
  int before = 0;
  int after = 0;
  friend bool operator==(const LaunchEdge&, const LaunchEdge&) = default;
};

/// The dependencies between the kernels of a variant: those of the program, and those between
/// buffers that share arena memory. Omits an edge from a kernel that a direct predecessor waits
/// for.
class LaunchOrder {
 public:
  /// `variant` must outlive it.
  explicit LaunchOrder(const Variant& variant);

  /// The edges, sorted by `after`.
  std::vector<LaunchEdge> edges(const ScratchLayout& layout,
                                std::span<const std::int64_t> symbols) const;

 private:
  /// The temporaries that a kernel reads or writes, and those that it writes.
  struct Footprint {
    std::vector<int> used;
    std::vector<int> written;
  };

  const Program& program_;
  std::vector<Footprint> footprints_;  ///< by kernel
};

}  // namespace sinter
