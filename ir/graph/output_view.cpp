// Finds the outputs that are views of inputs or of other outputs.
#include "ir/graph/output_view.h"

#include <algorithm>

#include "ir/graph/operand_index.h"
#include "ir/support/dense_map.h"

namespace sinter {

namespace {

class ViewFinder {
 public:
  explicit ViewFinder(const GraphData& graph) : graph_(graph) {
    for (std::size_t i = 0; i < graph.inputs.size(); ++i)
      input_of_.try_emplace(graph.inputs[i].node, static_cast<int>(i));
    for (std::size_t i = 0; i < graph.outputs.size(); ++i)
      outputs_of_[graph.outputs[i].node].push_back(static_cast<int>(i));
    for (const UpdateInfo& update : graph.updates) updated_.insert(update.parameter);
  }

  std::vector<std::optional<OutputView>> run() {
    const auto count = graph_.outputs.size();
    views_.resize(count);
    // The base of a view may be a later output, but the node of the base has a smaller id.
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return graph_.outputs[i].node->id; });
    for (const std::size_t i : order) {
      views_[i] = view_of(static_cast<int>(i));
      if (!views_[i]) add_permuted_copy(static_cast<int>(i));
    }
    return std::move(views_);
  }

 private:
  /// The longest chain of views that is followed. Views in practice are shorter.
  static constexpr int kLongest = 64;

  /// The view that output `number` is of an input, of an output, or of a value with a permuted
  /// copy.
  std::optional<OutputView> view_of(int number) {
    const OutputInfo& output = graph_.outputs[static_cast<std::size_t>(number)];
    if (!output.strides.empty()) return std::nullopt;
    IndexSpace space;
    std::vector<Index> index;
    for (const Extent extent : output.node->shape) index.push_back(space.add_axis(extent));
    const Node* at = output.node;
    const int rank = at->rank();
    for (int length = 0; length < kLongest; ++length) {
      int base = base_output(at, number);
      const auto copy = permuted_copies_.find(at);
      if (base < 0 && copy != permuted_copies_.end()) {
        base = copy->second.output;
        index = index_in_copy(space, std::move(index), copy->second);
      }
      if (base >= 0) {
        const OutputInfo& info = graph_.outputs[static_cast<std::size_t>(base)];
        return strided_view(address(space, index, strides_of(info)), rank, false, base);
      }
      if (at->op == Op::input) {
        if (updated_.contains(at)) return std::nullopt;
        return strided_view(address(space, index, strides_of(*at)), rank, true,
                            input_of_.lookup(at));
      }
      if (!is_view(*at)) return std::nullopt;
      index = operand_index(space, *at, 0, index);
      at = at->operand(0);
    }
    return std::nullopt;
  }

  /// An output that has each element of a value exactly once, in another order.
  struct PermutedCopy {
    int output = 0;
    std::vector<const Node*> views;  ///< from the output down to the value
  };

  /// Registers `output` for the values of which it is a reshaped or permuted copy.
  void add_permuted_copy(int output) {
    std::vector<const Node*> views;
    const Node* at = graph_.outputs[static_cast<std::size_t>(output)].node;
    while (views.size() < std::size_t{kLongest} &&
           (at->op == Op::reshape || at->op == Op::permute)) {
      views.push_back(at);
      at = at->operand(0);
      if (at->op == Op::input) return;
      permuted_copies_.try_emplace(at, PermutedCopy{.output = output, .views = views});
    }
  }

  /// The index in `copy` of the element of a value at `index`.
  static std::vector<Index> index_in_copy(IndexSpace& space, std::vector<Index> index,
                                          const PermutedCopy& copy) {
    for (std::size_t i = copy.views.size(); i-- > 0;) {
      const Node& view = *copy.views[i];
      if (view.op == Op::reshape) {
        index = space.delinearize(space.linearize(index, view.operand(0)->shape), view.shape);
        continue;
      }
      std::vector<Index> permuted;
      for (const std::int64_t axis : attribute(view, "axes").integers)
        permuted.push_back(index[static_cast<std::size_t>(axis)]);
      index = std::move(permuted);
    }
    return index;
  }

  /// A written output, other than `viewer`, whose value is `node`; -1 if there is none.
  int base_output(const Node* node, int viewer) const {
    const auto outputs = outputs_of_.find(node);
    if (outputs == outputs_of_.end()) return -1;
    for (const int output : outputs->second)
      if (output != viewer && can_be_base(output, viewer)) return output;
    return -1;
  }

  /// True if `output` can be the base of `viewer`. Of two outputs with one value, the first output
  /// is written, or the output with explicit strides.
  bool can_be_base(int output, int viewer) const {
    const auto& outputs = graph_.outputs;
    const OutputInfo& base = outputs[static_cast<std::size_t>(output)];
    const bool comes_first =
        output < viewer || base.node != outputs[static_cast<std::size_t>(viewer)].node;
    return !views_[static_cast<std::size_t>(output)] && (comes_first || !base.strides.empty());
  }

  /// The view with these addresses; nullopt unless they are linear in the axes and ascending.
  static std::optional<OutputView> strided_view(const Index& address, int rank, bool is_of_input,
                                                int base) {
    OutputView view{.is_of_input = is_of_input, .base = base, .offset = address.constant};
    view.strides.assign(static_cast<std::size_t>(rank), Extent(0));
    if (!provably_nonnegative(address.constant)) return std::nullopt;
    for (const IndexTerm& term : address.terms) {
      const bool is_axis = term.atom->kind == IndexAtom::Kind::axis;
      if (!is_axis || !provably_nonnegative(term.coefficient)) return std::nullopt;
      view.strides[static_cast<std::size_t>(term.atom->axis)] = term.coefficient;
    }
    return view;
  }

  const GraphData& graph_;
  DenseMap<const Node*, int> input_of_;
  DenseMap<const Node*, llvm::SmallVector<int, 2>> outputs_of_;
  DenseMap<const Node*, PermutedCopy> permuted_copies_;
  DenseSet<const Node*> updated_;
  std::vector<std::optional<OutputView>> views_;
};

}  // namespace

std::vector<std::optional<OutputView>> output_views(const GraphData& graph) {
  return ViewFinder(graph).run();
}

}  // namespace sinter
