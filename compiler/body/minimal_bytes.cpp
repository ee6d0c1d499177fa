#include "compiler/body/minimal_bytes.h"

#include "compiler/simplify/graph_sweep.h"
#include "ir/graph/operand_index.h"
#include "ir/support/dense_map.h"

#include <algorithm>
#include <utility>

namespace sinter {

namespace {

/// The views of one base that are read or written, each view once.
struct Views {
  std::int64_t sum = 0;      ///< elements of all views
  std::int64_t largest = 0;  ///< elements of the largest view
};

class DistinctReads {
 public:
  explicit DistinctReads(std::span<const std::int64_t> symbols) : symbols_(symbols) {}

  std::int64_t elements(const Node& node) const { return evaluate(product(node.shape), symbols_); }

  /// Records a read of at most `most` elements of `view`: a broadcast of a row touches one row.
  void read(const Node* view, std::int64_t most) {
    // A reordering reads the same elements.
    while (view->op == Op::reshape || view->op == Op::permute || view->op == Op::flip)
      view = view->operand(0);
    const Node* base = view;
    for (; is_view(*base); base = base->operand(0)) most = std::min(most, elements(*base));
    most = std::min(most, elements(*base));
    std::int64_t& known = counted_[view];
    if (known >= most) return;
    Views& views = views_[base];
    views.sum += most - std::exchange(known, most);
    views.largest = std::max(views.largest, most);
  }

  std::int64_t bytes_of_inputs() const {
    std::int64_t bytes = 0;
    for (const auto& [base, views] : views_)
      // Views of one base share its elements.
      if (base->op == Op::input)
        bytes +=
            std::max(std::min(views.sum, elements(*base)), views.largest) * size_of(base->dtype);
    return bytes;
  }

 private:
  std::span<const std::int64_t> symbols_;
  /// Elements per view, after reorderings are skipped.
  DenseMap<const Node*, std::int64_t> counted_;
  DenseMap<const Node*, Views> views_;  ///< by base
};

}  // namespace

std::int64_t minimal_bytes(const GraphData& graph, std::span<const std::int64_t> symbols) {
  DistinctReads reads(symbols);
  for (const Node* node : reachable(graph)) {
    if (is_view(*node)) continue;
    const bool gathers = node->op == Op::take || node->op == Op::take_along_axis;
    for (std::size_t i = 0; i < node->operands.size(); ++i)
      reads.read(node->operand(i), reads.elements(gathers && i == 0 ? *node : *node->operand(i)));
  }
  std::int64_t written = 0;
  const auto write = [&](const Node& node) {
    written += reads.elements(node) * size_of(node.dtype);
  };
  for (const OutputInfo& output : graph.outputs) {
    if (output.is_unwritten) continue;
    reads.read(output.node, reads.elements(*output.node));  // may be a view of an input
    write(*output.node);
  }
  for (const UpdateInfo& update : graph.updates) {
    reads.read(update.value, reads.elements(*update.value));
    write(*update.parameter);
  }
  return reads.bytes_of_inputs() + written;
}

}  // namespace sinter
