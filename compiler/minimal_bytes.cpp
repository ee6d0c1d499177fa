#include "compiler/minimal_bytes.h"

#include <algorithm>

#include "compiler/body.h"
#include "compiler/rewrite.h"

namespace sinter {

namespace {

/// What views of values are read: each distinct view once.
class Touched {
 public:
  explicit Touched(std::span<const std::int64_t> symbols) : symbols_(symbols) {}

  /// `view` is read, at most `most` elements of it.
  void add(const Node* view, std::int64_t most) {
    if (!views_.insert(view).second)
      return;
    const Node* base = view;
    most = std::min(most, elements(*base));
    while (is_view(*base)) {
      base = base->operand(0);
      most = std::min(most, elements(*base));
    }
    elements_[base] += most;
    if (std::ranges::find(bases_, base) == bases_.end())
      bases_.push_back(base);
  }

  void add(const Node* view) { add(view, elements(*view)); }

  std::int64_t elements(const Node& node) const { return evaluate(product(node.shape), symbols_); }

  /// Of those whose base is an input, or of those whose base is none.
  std::int64_t bytes(bool of_inputs) const {
    std::int64_t sum = 0;
    for (const Node* base : bases_)
      if ((base->op == Op::input) == of_inputs)
        sum += std::min(elements_.lookup(base), elements(*base)) * size_of(base->dtype);
    return sum;
  }

 private:
  std::span<const std::int64_t> symbols_;
  llvm::DenseSet<const Node*> views_;
  llvm::DenseMap<const Node*, std::int64_t> elements_;  ///< by base
  std::vector<const Node*> bases_;
};

}  // namespace

std::int64_t minimal_bytes(const GraphData& graph, std::span<const std::int64_t> symbols) {
  Touched reads(symbols);
  for (const Node* node : reachable(graph)) {
    if (is_view(*node))
      continue;
    const bool gathers = node->op == Op::take || node->op == Op::take_along_axis;
    for (std::size_t i = 0; i < node->operands.size(); ++i)
      if (gathers && i == 0)
        reads.add(node->operand(i), reads.elements(*node));
      else
        reads.add(node->operand(i));
  }
  Touched writes(symbols);
  for (const OutputInfo& output : graph.outputs)
    writes.add(output.node);
  std::int64_t updated = 0;
  for (const UpdateInfo& update : graph.updates) {
    reads.add(update.value);  // which may be a view of another input
    updated += writes.elements(*update.parameter) * size_of(update.parameter->dtype);
  }
  return reads.bytes(/*of_inputs=*/true) + writes.bytes(/*of_inputs=*/false) + updated;
}

}  // namespace sinter
