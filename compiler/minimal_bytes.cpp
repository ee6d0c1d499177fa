#include "compiler/minimal_bytes.h"

#include "compiler/body.h"
#include "compiler/rewrite.h"
#include "ir/structural.h"

#include <algorithm>

namespace sinter {

namespace {

/// The views of one base that are read or written, each view once.
struct Views {
  const Node* base = nullptr;
  std::int64_t sum = 0;      ///< elements of all views
  std::int64_t largest = 0;  ///< elements of one
};

class Touched {
 public:
  explicit Touched(std::span<const std::int64_t> symbols) : symbols_(symbols) {}

  std::int64_t elements(const Node& node) const { return evaluate(product(node.shape), symbols_); }

  /// `view` is read, at most `most` elements of it: a broadcast of a row touches one row.
  void read(const Node* view, std::int64_t most) {
    if (!seen_.insert(view).second) return;
    for (const Node* node = view;; node = node->operand(0)) {
      most = std::min(most, elements(*node));
      if (!is_view(*node)) return add(node, most);
    }
  }
  void read(const Node* view) { read(view, elements(*view)); }

  /// `view` is written: a broadcast row becomes a whole array.
  void write(const Node* view) {
    if (!seen_.insert(view).second) return;
    const Node* base = view;
    while (is_view(*base)) base = base->operand(0);
    add(base, elements(*view));
  }

  std::int64_t bytes_of_inputs() const {
    std::int64_t bytes = 0;
    for (const Views& views : bases_)
      if (views.base->op == Op::input) bytes += bytes_of(views);
    return bytes;
  }
  std::int64_t bytes() const {
    std::int64_t bytes = 0;
    for (const Views& views : bases_) bytes += bytes_of(views);
    return bytes;
  }

 private:
  void add(const Node* base, std::int64_t count) {
    const auto [place, is_new] = place_of_.try_emplace(base, bases_.size());
    if (is_new) bases_.push_back({.base = base});
    Views& views = bases_[place->second];
    views.sum += count;
    views.largest = std::max(views.largest, count);
  }

  /// Views of one base share its elements.
  std::int64_t bytes_of(const Views& views) const {
    const std::int64_t shared = std::min(views.sum, elements(*views.base));
    return std::max(shared, views.largest) * size_of(views.base->dtype);
  }

  std::span<const std::int64_t> symbols_;
  llvm::DenseSet<const Node*> seen_;
  llvm::DenseMap<const Node*, std::size_t> place_of_;  ///< of a base in bases_
  std::vector<Views> bases_;
};

void read_operands(const Node& node, Touched& reads) {
  const bool gathers = node.op == Op::take || node.op == Op::take_along_axis;
  for (std::size_t i = 0; i < node.operands.size(); ++i)
    if (gathers && i == 0)
      reads.read(node.operand(i), reads.elements(node));
    else
      reads.read(node.operand(i));
}

}  // namespace

std::int64_t minimal_bytes(const GraphData& graph, std::span<const std::int64_t> symbols) {
  Touched reads(symbols);
  for (const Node* node : reachable(graph))
    if (!is_view(*node)) read_operands(*node, reads);
  Touched writes(symbols);
  for (const OutputInfo& output : graph.outputs) {
    if (output.is_left_out) continue;
    reads.read(output.node);  // which may be a view of an input
    writes.write(output.node);
  }
  std::int64_t updated = 0;
  for (const UpdateInfo& update : graph.updates) {
    reads.read(update.value);
    updated += writes.elements(*update.parameter) * size_of(update.parameter->dtype);
  }
  return reads.bytes_of_inputs() + writes.bytes() + updated;
}

}  // namespace sinter
