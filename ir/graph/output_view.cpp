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
    // A view may be one of an output that is recorded later, but its nodes come after the base's.
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return graph_.outputs[i].node->id; });
    for (const std::size_t i : order) {
      views_[i] = view_of(static_cast<int>(i));
      if (!views_[i]) add_rearranged(static_cast<int>(i));
    }
    return std::move(views_);
  }

 private:
  /// A longer chain is no everyday view.
  static constexpr int kLongest = 64;

  std::optional<OutputView> view_of(int number) {
    const OutputInfo& output = graph_.outputs[static_cast<std::size_t>(number)];
    if (!output.strides.empty()) return std::nullopt;
    IndexSpace space;
    std::vector<Index> index;
    for (const Extent extent : output.node->shape) index.push_back(space.add_axis(extent));
    const Node* at = output.node;
    const int rank = at->rank();
    for (int length = 0; length < kLongest; ++length) {
      if (const int base = base_output(at, number); base >= 0) {
        const OutputInfo& info = graph_.outputs[static_cast<std::size_t>(base)];
        return evenly_spaced(address(space, index, strides_of(info)), rank, false, base);
      }
      if (const auto found = rearranged_.find(at); found != rearranged_.end()) {
        const Rearranged& base = found->second;
        return evenly_spaced(
            address(space, rearrange(space, std::move(index), base),
                    strides_of(graph_.outputs[static_cast<std::size_t>(base.output)])),
            rank, false, base.output);
      }
      if (at->op == Op::input) {
        if (updated_.contains(at)) return std::nullopt;
        return evenly_spaced(address(space, index, strides_of(*at)), rank, true,
                             input_of_.lookup(at));
      }
      if (!is_view(*at)) return std::nullopt;
      index = operand_index(space, *at, 0, index);
      at = at->operand(0);
    }
    return std::nullopt;
  }

  /// An output that has each element of a value once, in another order.
  struct Rearranged {
    int output = 0;
    std::vector<const Node*> views;  ///< from the output down to the value
  };

  /// What `output` has all elements of, from now on.
  void add_rearranged(int output) {
    std::vector<const Node*> views;
    const Node* at = graph_.outputs[static_cast<std::size_t>(output)].node;
    while (views.size() < std::size_t{kLongest} &&
           (at->op == Op::reshape || at->op == Op::permute)) {
      views.push_back(at);
      at = at->operand(0);
      if (at->op == Op::input) return;
      rearranged_.try_emplace(at, Rearranged{.output = output, .views = views});
    }
  }

  /// Where the element of a value at `index` lies in `base`.
  static std::vector<Index> rearrange(IndexSpace& space, std::vector<Index> index,
                                      const Rearranged& base) {
    for (std::size_t i = base.views.size(); i-- > 0;) {
      const Node& view = *base.views[i];
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

  /// An output that is written and whose value is `node`; -1 for none but `viewer`.
  int base_output(const Node* node, int viewer) const {
    const auto outputs = outputs_of_.find(node);
    if (outputs == outputs_of_.end()) return -1;
    for (const int output : outputs->second)
      if (output != viewer && is_written(output, viewer)) return output;
    return -1;
  }

  /// Of two outputs of one value the first is written, or the one with strides of its own.
  bool is_written(int output, int viewer) const {
    const auto& outputs = graph_.outputs;
    const OutputInfo& base = outputs[static_cast<std::size_t>(output)];
    const bool comes_first =
        output < viewer || base.node != outputs[static_cast<std::size_t>(viewer)].node;
    return !views_[static_cast<std::size_t>(output)] && (comes_first || !base.strides.empty());
  }

  static std::optional<OutputView> evenly_spaced(const Index& address, int rank, bool is_of_input,
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
  DenseMap<const Node*, Rearranged> rearranged_;
  DenseSet<const Node*> updated_;
  std::vector<std::optional<OutputView>> views_;
};

}  // namespace

std::vector<std::optional<OutputView>> output_views(const GraphData& graph) {
  return ViewFinder(graph).run();
}

}  // namespace sinter
