// Whether one kernel may compute some nodes, and what it costs. Kernels that are alike but for the
// names of their values are judged once.
#pragma once

#include <optional>
#include <string>

#include "compiler/body/kernel_key.h"
#include "compiler/cost/cost.h"
#include "compiler/fusion/group.h"

namespace sinter {

/// Beyond this many ops a kernel takes more than about a second to compile, and ever longer per op
/// (PERFORMANCE §13). Up to there one compiles in less time than the two that it is cut into.
inline constexpr std::size_t kMaxNodes = 512;
/// Beyond this many arrays what a thread has on its way fills its registers.
inline constexpr std::size_t kMaxArguments = 25;

/// "" unless so many arrays are more than `most`.
std::string arguments_refusal(std::size_t arguments, std::size_t most = kMaxArguments);

class FusionEvaluator {
 public:
  FusionEvaluator(const GraphData& graph, const Groups& groups, const Target& target,
                  const Facts& facts);

  /// What is known of one kernel.
  struct Evaluation {
    bool has_body = true;
    // Why there is no such kernel, where values stand as their places in the key.
    std::string reason;
    std::string shapes_reason;  ///< what its results of several shapes say against it
    std::optional<Cost> cost;   ///< unless it is refused
  };
  /// Of a kernel of `whole`. It holds until the next call.
  const Evaluation& of(const Groups::Whole& whole);
  /// `reason` of the latest finding in the words of its own values.
  std::string in_words(const std::string& reason) const;
  /// What a kernel costs, even one that would be refused.
  Cost cost(const Groups::Whole& whole);

  /// Results of other shapes hold a kernel's space fast, so what they join is made whole first.
  void allow_other_shapes() { allows_other_shapes_ = true; }
  /// The same from the outset, but for what kernels of rows would store across them.
  void allow_other_shapes_along_rows() { allows_other_shapes_ = has_them_first_ = true; }
  /// True if some kernel was refused because that was not allowed yet.
  bool has_deferred() const { return has_deferred_; }
  /// From now on kernels may touch so many arrays.
  void allow_arrays(std::size_t most) { most_arrays_ = most; }

 private:
  const KernelKey& key_of(const Groups::Whole& whole);
  Evaluation evaluate_kernel(const Groups::Whole& whole) const;
  std::string shapes_refusal(const Body& body) const;
  std::string scatter_refusal(const Body& body) const;
  std::string split_refusal(const Body& body) const;
  std::string final_refusal(const Body& body) const;
  std::string place_text(const Node* node) const;

  const Groups& groups_;
  const Target& target_;
  const Facts& facts_;
  DenseMap<const Node*, const Node*> parameter_of_;  ///< by the value that updates it
  bool allows_other_shapes_ = false;
  bool has_them_first_ = false;
  std::size_t most_arrays_ = kMaxArguments;
  mutable bool has_deferred_ = false;
  KernelKeys keys_;
  KernelKey key_;  ///< the latest, with what counts beside it
  KernelKeyMap<Evaluation> known_;
};

}  // namespace sinter
