#include "compiler/body/minimal_bytes.h"

#include "compiler/body/body.h"
#include "compiler/program/op_cost.h"
#include "compiler/simplify/rewrite.h"
#include "ir/graph/operand_index.h"

#include <algorithm>
#include <utility>

namespace sinter {

namespace {

/// The views of one base that are read or written, each view once.
struct Views {
  const Node* base = nullptr;
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
    if (known < most) add(base, most, std::exchange(known, most));
  }
  void read(const Node* view) { read(view, elements(*view)); }

  std::int64_t bytes_of_inputs() const {
    std::int64_t bytes = 0;
    for (const Views& views : bases_)
      if (views.base->op == Op::input) bytes += bytes_of(views);
    return bytes;
  }

 private:
  /// Adds `count` elements of a view of `base`, of which `known` are already counted.
  void add(const Node* base, std::int64_t count, std::int64_t known) {
    const auto [found, is_new] = index_of_.try_emplace(base, bases_.size());
    if (is_new) bases_.push_back({.base = base});
    Views& views = bases_[found->second];
    views.sum += count - known;
    views.largest = std::max(views.largest, count);
  }

  /// Views of one base share its elements.
  std::int64_t bytes_of(const Views& views) const {
    const std::int64_t shared = std::min(views.sum, elements(*views.base));
    return std::max(shared, views.largest) * size_of(views.base->dtype);
  }

  std::span<const std::int64_t> symbols_;
  /// Elements per view, after reorderings are skipped.
  DenseMap<const Node*, std::int64_t> counted_;
  DenseMap<const Node*, std::size_t> index_of_;  ///< index of a base in bases_
  std::vector<Views> bases_;
};

void read_operands(const Node& node, DistinctReads& reads) {
  const bool gathers = node.op == Op::take || node.op == Op::take_along_axis;
  for (std::size_t i = 0; i < node.operands.size(); ++i)
    if (gathers && i == 0)
      reads.read(node.operand(i), reads.elements(node));
    else
      reads.read(node.operand(i));
}

}  // namespace

std::int64_t minimal_bytes(const GraphData& graph, std::span<const std::int64_t> symbols) {
  DistinctReads reads(symbols);
  for (const Node* node : reachable(graph))
    if (!is_view(*node)) read_operands(*node, reads);
  std::int64_t written = 0;
  const auto write = [&](const Node& node) {
    written += reads.elements(node) * size_of(node.dtype);
  };
  for (const OutputInfo& output : graph.outputs) {
    if (output.is_unwritten) continue;
    reads.read(output.node);  // may be a view of an input
    write(*output.node);
  }
  for (const UpdateInfo& update : graph.updates) {
    reads.read(update.value);
    write(*update.parameter);
  }
  return reads.bytes_of_inputs() + written;
}

}  // namespace sinter
