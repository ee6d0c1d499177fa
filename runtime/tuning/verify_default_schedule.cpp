#include "runtime/tuning/verify_default_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/plan.h"
#include "ir/graph/operand_index.h"
#include "ir/oracle/check.h"
#include "ir/shape/evaluate_extents.h"
#include "ir/shape/extent.h"
#include "runtime/device/launch_grid.h"
#include "runtime/tuning/tuning_data.h"
#include "runtime/tuning/tuning_timer.h"
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
  KernelGraph(const Program& program, const Kernel& kernel, const TuningData& data,
              std::span<const std::int64_t> symbols)
      : program_(program),
        data_(data),
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
      const bool is_there = buffer != program_.buffer_of.end() && data_.contains(buffer->second);
      // A buffer that the kernel overwrites in part held other numbers before the launch, so the
      // graph uses the parts of its concat. Inputs are still unchanged when they are read here.
      const bool is_in_pieces =
          is_there && node->op != Op::input && data_.writes_to_array_of(buffer->second);
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
    HostArray array = data_.array(number);
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
    inputs_.emplace(name, data_.number(number));
    return made;
  }

  const Program& program_;
  const TuningData& data_;
  std::span<const std::int64_t> symbols_;
  DenseSet<const Node*> inside_;
  DenseMap<const Node*, const Node*> made_;
  Graph graph_{"excerpt"};
  HostArrays inputs_;
  std::int64_t elements_ = 0;
};

/// The default schedule of one kernel at small sizes.
class DefaultVerifier {
 public:
  DefaultVerifier(DeviceState& device, const TuneRequest& request)
      : device_(device), request_(request), source_(request.sources[0]) {}

  DefaultVerification run() {
    DefaultVerification result;
    if (request_.program.numerics != Numerics{})
      return not_verified("it may round in other ways than the oracle");
    // Oracles of custom ops are functions of the user, who does not expect calls during tuning.
    if (std::ranges::any_of(request_.kernel.nodes,
                            [](const Node* node) { return node->op == Op::custom; }))
      return not_verified("it has custom ops");
    request_.cancellation.check();
    symbols_ = small_sizes(request_.program, request_.symbols);
    if (elements_touched() > kMaxElements) return too_large();
    const CurrentContext current(device_);
    const Stream stream = Device(&device_).stream();
    TuningData data(device_,
                    {.program = request_.program,
                     .kernel = request_.kernel,
                     .sources = request_.sources.first(1),
                     .symbols = symbols_,
                     .alignment = request_.alignment,
                     .workspace_bytes = evaluate(source_.workspace_bytes, symbols_),
                     .tickets = evaluate(source_.tickets, symbols_)},
                    /*sets=*/1, stream.state()->handle);
    KernelGraph kernel_graph(request_.program, request_.kernel, data, symbols_);
    std::vector<const Node*> wanted;
    for (const Store& store : request_.kernel.stores) {
      if (!data.is_touched(store.buffer)) continue;  // stays on the SM
      stores_.push_back(store);
      wanted.push_back(kernel_graph.of(store.node));
      if (kernel_graph.elements() > kMaxElements) return too_large();
      if (!wanted.back()) return not_verified("it reads a value that is not in memory");
    }
    const CUfunction function = request_.unit.functions[0].handle;
    const TimedKernel kernel{
        .source = source_,
        .function = function,
        .grid = grid_size(source_, cooperative_grid_limit(device_, source_, function), symbols_)};
    if (kernel.grid == 0) return not_verified("there is nothing to launch");
    request_.cancellation.check();
    const std::vector<Expected> expected =
        interpret_nodes(kernel_graph.graph(), kernel_graph.inputs(), {}, wanted);
    launch_once(device_, kernel, data, /*set=*/0, stream.state()->handle);
    compare(data, expected, result);
    return result;
  }

 private:
  static DefaultVerification not_verified(std::string reason) {
    return {.reason = std::move(reason)};
  }
  static DefaultVerification too_large() {
    return not_verified(
        fmt::format("it has more than {} elements at any size of its class", kMaxElements));
  }

  /// The number of elements of all arrays and of the scratch memory.
  std::int64_t elements_touched() const {
    std::int64_t count = evaluate(source_.workspace_bytes, symbols_) / 4;
    for (const int buffer : buffers_of(source_))
      count += elements_of(request_.program.buffers[static_cast<std::size_t>(buffer)], symbols_);
    return count;
  }

  void compare(TuningData& data, std::span<const Expected> expected, DefaultVerification& result) {
    double worst = 0;
    std::int64_t elements = 0, undecided = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Store& store = stores_[i];
      const CheckResult checked = check(expected[i], data.array(store.buffer));
      worst = std::max(worst, checked.worst);
      elements += checked.elements;
      undecided += checked.undecided;
      if (checked.passes()) continue;
      result.passes = false;
      result.summary = fmt::format("at {}: {}", sizes_text(),
                                   describe(request_.program.names().of(store.node), checked));
      return;
    }
    result.summary = fmt::format(
        "at {} {} elements are within the oracle's bounds, worst error/bound {:.2g}, {} undecided",
        sizes_text(), elements, worst, undecided);
  }

  std::string sizes_text() const { return symbols_text(request_.program, symbols_, "its sizes"); }

  DeviceState& device_;
  const TuneRequest& request_;
  const Source& source_;
  std::vector<std::int64_t> symbols_;
  std::vector<Store> stores_;  ///< the compared ones
};

}  // namespace

DefaultVerification verify_default_schedule(DeviceState& device, const TuneRequest& request) {
  return DefaultVerifier(device, request).run();
}

}  // namespace sinter
