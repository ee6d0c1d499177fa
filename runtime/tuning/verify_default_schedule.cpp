#include "runtime/tuning/verify_default_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/guards.h"
#include "ir/graph/operand_index.h"
#include "ir/oracle/check.h"
#include "ir/shape/extent.h"
#include "runtime/tuning/kernel_timer.h"
#include "runtime/tuning/scratch_buffers.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// The most elements of all values together. The oracle computes them in a few 0.01 s.
constexpr std::int64_t kMaxElements = 1 << 18;
/// The preferred size: rows for several blocks, with a remainder.
constexpr std::int64_t kPreferredSize = 7;
/// The largest size that the search tries.
constexpr std::int64_t kLargestSize = 1 << 10;

/// True if all guards hold and every extent is positive, or 0 like at the sizes `given`. Guards do
/// not exclude negative extents.
bool are_sizes(const Program& program, std::span<const std::int64_t> symbols,
               std::span<const std::int64_t> given) {
  const auto is_extent = [&](Extent extent) {
    const std::int64_t size = evaluate(extent, symbols);
    return size > 0 || (size == 0 && evaluate(extent, given) == 0);
  };
  try {
    return holds(program, symbols) &&
           std::ranges::all_of(program.graph->data().nodes, [&](const Node* node) {
             return std::ranges::all_of(node->shape, is_extent);
           });
  } catch (const UserError&) {  // for example a division by 0
    return false;
  }
}

/// Small sizes of the class, chosen symbol by symbol: the smallest one from 7 on, else the largest
/// one below.
std::vector<std::int64_t> small_sizes(const Program& program,
                                      std::span<const std::int64_t> symbols) {
  std::vector<std::int64_t> sizes(symbols.begin(), symbols.end());
  for (std::int64_t& size : sizes) {
    const std::int64_t given = size;
    const auto fits = [&](std::int64_t tried) {
      size = tried;
      return are_sizes(program, sizes, symbols);
    };
    if (given <= kPreferredSize) continue;
    const auto upwards = std::views::iota(kPreferredSize, std::min(given, kLargestSize));
    const auto below = std::views::iota(std::int64_t{1}, kPreferredSize) | std::views::reverse;
    if (!std::ranges::any_of(upwards, fits) && !std::ranges::any_of(below, fits)) size = given;
  }
  return sizes;
}

/// The computation of a kernel as a graph: loaded arrays are inputs, and sizes are numbers.
class KernelGraph {
 public:
  KernelGraph(const Program& program, const Kernel& kernel, const ScratchBuffers& buffers,
              std::span<const std::int64_t> symbols)
      : program_(program),
        buffers_(buffers),
        symbols_(symbols),
        inside_(kernel.nodes.begin(), kernel.nodes.end()) {}

  /// `node` in this graph; nullptr if an operand is neither computed nor in memory, or if the graph
  /// is too large.
  const Node* of(const Node* node) {
    if (const auto known = made_.find(node); known != made_.end()) return known->second;
    const Node* const made = make(node);
    made_[node] = made;
    return made;
  }

  /// The contents of the inputs that `of` has met.
  const HostArrays& inputs() const { return inputs_; }
  std::int64_t elements() const { return elements_; }
  const GraphData& graph() const { return graph_.data(); }

 private:
  const Node* make(const Node* node) {
    const std::vector<std::int64_t> shape = evaluate_all(node->shape, symbols_);
    elements_ += element_count(shape);
    if (elements_ > kMaxElements) return nullptr;
    if (!inside_.contains(node)) {
      const auto buffer = program_.buffer_of.find(node);
      const bool is_there = buffer != program_.buffer_of.end() && buffers_.contains(buffer->second);
      // A buffer that the kernel overwrites in part held other numbers before the launch, so the
      // graph uses the parts of its concat. Inputs are still unchanged when they are read here.
      const bool is_in_pieces =
          is_there && node->op != Op::input && buffers_.writes_to_array_of(buffer->second);
      if (is_there && !is_in_pieces) return array(buffer->second, shape);
      if (node->op == Op::scalar) return scalar(*node);
      const bool is_made_of_others =
          is_view(*node) || is_free(*node) || (is_in_pieces && node->op == Op::concat);
      if (node->op == Op::input || !is_made_of_others) return nullptr;
    }
    std::vector<const Node*> operands;
    for (const Node* operand : node->operands) {
      operands.push_back(of(operand));
      if (!operands.back()) return nullptr;
    }
    return applied(*node, shape, operands);
  }

  const Node* applied(const Node& node, std::span<const std::int64_t> shape,
                      std::span<const Node* const> operands) {
    const std::vector<Extent> extents(shape.begin(), shape.end());
    std::vector<Attribute> attributes(node.attributes.begin(), node.attributes.end());
    std::vector<std::vector<Extent>> lists;  // storage of the attributes' spans
    for (Attribute& attribute : attributes) {
      attribute.extent = evaluate(attribute.extent, symbols_);
      if (attribute.extents.empty()) continue;
      const std::vector<std::int64_t> list = evaluate_all(attribute.extents, symbols_);
      attribute.extents = lists.emplace_back(list.begin(), list.end());
    }
    return graph_.data().make({.op = node.op,
                               .dtype = node.dtype,
                               .operands = operands,
                               .shape = extents,
                               .attributes = attributes},
                              program_.graph->data().location(&node));
  }

  const Node* array(int number, const std::vector<std::int64_t>& shape) {
    const Buffer& buffer = program_.buffers[static_cast<std::size_t>(number)];
    HostArray array = buffers_.array(number);
    const std::string name = fmt::format("b{}", number);
    const std::vector<Extent> extents(shape.begin(), shape.end());
    const Node* const node = graph_.input(name, buffer.dtype, extents).node();
    inputs_.emplace(name, std::move(array));
    return node;
  }

  const Node* scalar(const Node& node) {
    const auto number = static_cast<int>(attribute(node, "index").integer);
    const std::string name = fmt::format("s{}", number);
    const Node* const made = graph_.scalar(name, node.dtype).node();
    inputs_.emplace(name, buffers_.number(number));
    return made;
  }

  const Program& program_;
  const ScratchBuffers& buffers_;
  std::span<const std::int64_t> symbols_;
  DenseSet<const Node*> inside_;
  DenseMap<const Node*, const Node*> made_;
  Graph graph_{"excerpt"};
  HostArrays inputs_;
  std::int64_t elements_ = 0;
};

DefaultVerification not_verified(std::string reason) { return {.reason = std::move(reason)}; }

DefaultVerification too_large() {
  return not_verified(
      fmt::format("it has more than {} elements at any size of its class", kMaxElements));
}

/// The number of elements of all arrays and of the workspace.
std::int64_t elements_touched(const TuneRequest& request) {
  const Source& source = request.sources[0];
  std::int64_t count = evaluate(source.workspace_bytes, request.symbols) / 4;
  for (const int buffer : buffers_of(source))
    count +=
        elements_of(request.program.buffers[static_cast<std::size_t>(buffer)], request.symbols);
  return count;
}

/// Compares the stored arrays with the oracle's results.
DefaultVerification compare(const TuneRequest& request, const ScratchBuffers& buffers,
                            std::span<const Store> stores, std::span<const Expected> expected) {
  const std::string sizes = symbols_text(request.program, request.symbols, "its sizes");
  double worst = 0;
  std::int64_t elements = 0, undecided = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const CheckResult checked = check(expected[i], buffers.array(stores[i].buffer));
    worst = std::max(worst, checked.worst);
    elements += checked.elements;
    undecided += checked.undecided;
    if (!checked.passes())
      return {
          .passes = false,
          .summary = fmt::format("at {}: {}", sizes,
                                 describe(request.program.names().of(stores[i].node), checked))};
  }
  return {.summary = fmt::format(
              "at {} {} elements are within the oracle's bounds, worst error/bound {:.2g}, {} "
              "undecided",
              sizes, elements, worst, undecided)};
}

}  // namespace

DefaultVerification verify_default_schedule(DeviceState& device, const TuneRequest& request) {
  const Program& program = request.program;
  if (program.numerics != Numerics{})
    return not_verified("it may round in other ways than the oracle");
  // Oracles of custom ops are functions of the user, who does not expect calls during tuning.
  if (std::ranges::count(request.kernel.nodes, Op::custom, &Node::op) > 0)
    return not_verified("it has custom ops");
  request.cancellation.check();
  const std::vector<std::int64_t> sizes = small_sizes(program, request.symbols);
  const TuneRequest small{.program = program,
                          .kernel = request.kernel,
                          .sources = request.sources.first(1),
                          .schedules = request.schedules.first(1),
                          .unit = request.unit,
                          .symbols = sizes,
                          .alignment = request.alignment};
  if (elements_touched(small) > kMaxElements) return too_large();
  const CurrentContext current(device);
  const Stream stream = Device(&device).stream();
  const ScratchBuffers buffers(device, small, /*sets=*/1, stream.state()->handle);
  KernelGraph kernel_graph(program, request.kernel, buffers, sizes);
  std::vector<Store> stores;  // the compared ones
  std::vector<const Node*> wanted;
  for (const Store& store : request.kernel.stores) {
    if (!buffers.is_touched(store.buffer)) continue;  // stays on the SM
    stores.push_back(store);
    wanted.push_back(kernel_graph.of(store.node));
    if (kernel_graph.elements() > kMaxElements) return too_large();
    if (!wanted.back()) return not_verified("it reads a value that is not in memory");
  }
  const TimedKernel kernel = timed_kernel(device, small, 0);
  if (kernel.grid == 0) return not_verified("there is nothing to launch");
  request.cancellation.check();
  const std::vector<Expected> expected =
      interpret_nodes(kernel_graph.graph(), kernel_graph.inputs(), {}, wanted);
  launch_once(device, kernel, buffers, stream.state()->handle);
  return compare(small, buffers, stores, expected);
}

}  // namespace sinter
