// Decides whether one kernel may compute a set of nodes, and predicts its cost. Kernels that differ
// only in the names of their values are evaluated once.
#pragma once

#include <optional>
#include <string>

#include "compiler/body/kernel_key.h"
#include "compiler/cost/cost.h"
#include "compiler/fusion/group.h"

namespace sinter {

/// Maximum ops of a kernel. NVRTC 13 takes about a second for a kernel of 500 ops, and its time per
/// op grows with the size. Up to this size, one kernel compiles faster than two halves of it.
inline constexpr std::size_t kMaxNodes = 512;
/// Maximum arrays of a kernel. With more arrays, the loads in flight fill a thread's registers.
inline constexpr std::size_t kMaxArguments = 25;

/// The reason against a kernel with so many arrays; "" if they are at most `max`.
std::string arguments_refusal(std::size_t arguments, std::size_t max = kMaxArguments);

class FusionEvaluator {
 public:
  FusionEvaluator(const GraphData& graph, const Groups& groups, const Target& target,
                  const Facts& facts);

  /// The evaluation of one kernel.
  struct Evaluation {
    bool has_body = true;
    // The reason against the kernel. It names values by their positions in the key (with_names).
    std::string reason;
    std::string shapes_reason;  ///< against its results with several shapes
    std::optional<Cost> cost;   ///< nullopt if there is a `reason`
  };
  /// Evaluates a kernel of `kernel`. The reference is valid until the next call.
  const Evaluation& of(const Groups::KernelNodes& kernel);
  /// Inserts the value names of the latest evaluated kernel into its `reason`.
  std::string with_names(const std::string& reason) const;
  /// The cost of a kernel, even if its evaluation refuses it.
  Cost cost(const Groups::KernelNodes& kernel);

  /// Allows results with other shapes. Fusion calls this late, because such a result fixes the
  /// iteration space of its kernel.
  void allow_other_shapes() { allows_other_shapes_ = true; }
  /// The same from the start, except for results that are contiguous across the rows of their
  /// kernel.
  void allow_other_shapes_along_rows() { allows_other_shapes_ = allows_other_shapes_first_ = true; }
  /// True if a kernel was refused because other shapes were not allowed yet.
  bool has_deferred_shapes() const { return has_deferred_shapes_; }
  /// Sets the maximum arrays of a kernel.
  void set_max_arrays(std::size_t max) { max_arrays_ = max; }

 private:
  const KernelKey& key_of(const Groups::KernelNodes& kernel);
  Evaluation evaluate_kernel(const Groups::KernelNodes& kernel) const;
  std::string shapes_refusal(const Body& body) const;
  std::string scatter_refusal(const Body& body) const;
  std::string split_refusal(const Body& body) const;
  std::string final_refusal(const Body& body) const;
  std::string value_mark(const Node* node) const;

  const Groups& groups_;
  const Target& target_;
  const Facts& facts_;
  DenseMap<const Node*, const Node*> parameter_of_;  ///< by the value that updates it
  bool allows_other_shapes_ = false;
  bool allows_other_shapes_first_ = false;
  std::size_t max_arrays_ = kMaxArguments;
  mutable bool has_deferred_shapes_ = false;
  KernelKeys keys_;
  KernelKey key_;  ///< the latest, with the options that affect its evaluation
  KernelKeyMap<Evaluation> known_;
};

}  // namespace sinter
