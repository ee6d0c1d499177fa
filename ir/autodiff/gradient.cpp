// Reverse-mode differentiation: checks the arguments, then records vjps from the output backwards.
#include "sinter/gradient.h"

#include "ir/autodiff/op_vjp.h"
#include "ir/autodiff/structural_vjp.h"
#include "ir/record/composite.h"
#include "ir/record/custom.h"
#include "ir/record/record.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter {

namespace {

/// True for dtypes whose values have gradients.
bool is_smooth(DType dtype) { return is_floating(dtype) && dtype != c64; }

/// True if `cotangent` is a broadcast constant 0, such as the `zero` of ops.def.
bool is_known_zero(Tensor cotangent) {
  const Node* node = cotangent.node();
  while (node->op == Op::reshape || node->op == Op::broadcast_to || node->op == Op::cast)
    node = node->operand(0);
  const bool is_uniform = node->op == Op::constant || node->op == Op::full;
  return is_uniform && as_real(attribute(*node, "value").literal) == 0;
}

/// True if a change of `operand` may change a gradient through `node`. False for stop_gradient and
/// for piecewise constant results: comparisons, indices and casts to integers. A bitcast is not
/// piecewise constant.
bool propagates_gradient(const Node& node, const Node& operand) {
  if (node.op == Op::stop_gradient) return false;
  if (is_smooth(node.dtype)) return true;
  if (node.dtype == boolean) return false;
  return !is_smooth(operand.dtype) || node.op == Op::bitcast || node.dtype == c64;
}

/// One call of `gradient`.
class Gradient {
 public:
  Gradient(GraphData& graph, const Node* output, Location location)
      : graph_(graph), output_(output), location_(location) {}

  void run(std::span<const Tensor> inputs, Tensor cotangent);
  /// The cotangent of `input`; zeros if the output does not depend on it.
  Tensor of(Tensor input) const {
    const std::size_t id = input.node()->id;
    const bool has_one = id < cotangents_.size() && cotangents_[id].node();
    return has_one ? cotangents_[id] : zeros_like(input);
  }

 private:
  /// Marks the nodes that depend on one of `inputs`.
  void mark_dependent_nodes(std::span<const Tensor> inputs);
  /// Adds the contributions of `node` to the cotangents of its operands.
  void propagate(const Node* node);
  /// Throws UserError unless `cotangent`, returned by a custom op's vjp, fits operand `i`.
  void check_custom(const Node& node, std::size_t i, Tensor cotangent) const;
  /// Adds `cotangent`, cast and summed to the operand's dtype and shape, to that of `operand`.
  void add_cotangent(const Node* operand, Tensor cotangent);
  [[noreturn]] void throw_no_gradient(const Node* node) const;

  GraphData& graph_;
  const Node* output_;
  Location location_;
  std::vector<bool> depends_on_input_;  ///< by node id: the node depends on an input
  std::vector<Tensor> cotangents_;      ///< by node id; an empty Tensor means 0
};

void Gradient::mark_dependent_nodes(std::span<const Tensor> inputs) {
  depends_on_input_.assign(output_->id + std::size_t{1}, false);
  std::size_t first = depends_on_input_.size();
  for (const Tensor input : inputs) {
    const std::size_t id = input.node()->id;
    if (id > output_->id) continue;
    depends_on_input_[id] = true;
    first = std::min(first, id);
  }
  for (std::size_t id = first; id < depends_on_input_.size(); ++id) {
    const Node& node = *graph_.nodes[id];
    for (const Node* operand : node.operands)
      if (depends_on_input_[operand->id] && propagates_gradient(node, *operand))
        depends_on_input_[id] = true;
  }
}

void Gradient::run(std::span<const Tensor> inputs, Tensor cotangent) {
  mark_dependent_nodes(inputs);
  cotangents_.resize(output_->id + std::size_t{1});
  cotangents_[output_->id] = cotangent;
  // Operands have smaller ids than their users, so a node's cotangent is complete when it is
  // propagated.
  for (std::size_t id = cotangents_.size(); id-- > 0;)
    if (depends_on_input_[id] && cotangents_[id].node()) propagate(graph_.nodes[id]);
}

void Gradient::propagate(const Node* node) {
  const std::size_t count = node->operands.size();
  const auto is_wanted = [&](std::size_t i) {
    return depends_on_input_[node->operand(i)->id] && propagates_gradient(*node, *node->operand(i));
  };
  const auto has_gradient = [&](std::size_t i) { return is_smooth(node->operand(i)->dtype); };
  bool is_any_wanted = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_wanted(i)) continue;
    is_any_wanted = true;
    const bool reads_bits = node->op == Op::cast || node->op == Op::bitcast;
    if (reads_bits && !has_gradient(i)) throw_no_gradient(node);
  }
  if (!is_any_wanted) return;

  const Tensor y = tensor(graph_, node);
  const Tensor g = cotangents_[node->id];
  if (is_structural(node->op)) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_wanted(i) || !has_gradient(i)) continue;
      const Tensor cotangent = structural_vjp(y, i, g);
      if (!cotangent.node()) throw_no_gradient(node);
      add_cotangent(node->operand(i), cotangent);
    }
    return;
  }
  const CustomOptions* custom = node->op == Op::custom ? custom_options(graph_, *node) : nullptr;
  const bool has_custom = custom && custom->vjp;
  if (!vjp_of(node->op) && !has_custom) throw_no_gradient(node);
  std::vector<Tensor> operands;
  for (const Node* operand : node->operands) operands.push_back(tensor(graph_, operand));
  const std::vector<Tensor> cotangents =
      has_custom ? custom->vjp(operands, y, g) : vjp_of(node->op)(operands, y, g);
  if (cotangents.size() != count)
    fail("gradient",
         fmt::format("the vjp of custom op {} gives {} cotangents for {} operands",
                     attribute(*node, "name").text, cotangents.size(), count),
         location_);
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_wanted(i) || !has_gradient(i) || !cotangents[i].node()) continue;
    if (has_custom) check_custom(*node, i, cotangents[i]);
    add_cotangent(node->operand(i), cotangents[i]);
  }
}

void Gradient::check_custom(const Node& node, std::size_t i, Tensor cotangent) const {
  const auto fail_vjp = [&](std::string_view what) {
    fail("gradient",
         fmt::format("the vjp of custom op {} returns for operand {} a cotangent {}",
                     attribute(node, "name").text, i + 1, what),
         location_);
  };
  if (cotangent.graph() != &graph_)
    fail_vjp(fmt::format("of the graph {}, not of {}; record it from the operands, y and g",
                         cotangent.graph()->name, graph_.name));
  if (is_known_zero(cotangent)) return;
  const Node& given = *cotangent.node();
  const Node& operand = *node.operand(i);
  const std::size_t rank = operand.shape.size();
  bool fits = given.shape.size() >= rank;
  for (std::size_t axis = 0; fits && axis < rank; ++axis) {
    const Extent wanted = operand.shape[axis];
    fits = wanted.is(1) || given.shape[given.shape.size() - rank + axis] == wanted;
  }
  if (!fits || given.dtype == c64)
    fail_vjp(
        fmt::format("{} that cannot be summed to {}; return one with the shape of the operand "
                    "or of y, or {{}} for 0",
                    type_text(given), type_text(operand)));
}

void Gradient::add_cotangent(const Node* operand, Tensor cotangent) {
  if (is_known_zero(cotangent)) return;
  const Tensor whole = cast(unbroadcast(cotangent, operand->shape), operand->dtype);
  Tensor& total = cotangents_[operand->id];
  total = total.node() ? total + whole : whole;
}

void Gradient::throw_no_gradient(const Node* node) const {
  fail("gradient",
       fmt::format("{} at {} has no gradient; keep it off the paths from the inputs to the output",
                   info(node->op).name, graph_.location_text(node)),
       location_);
}

/// `the input x`, or `input 0` if it has no name.
std::string describe_input(const GraphData& graph, Tensor input, std::size_t number) {
  const std::string_view label = graph.label(input.node());
  return label.empty() ? fmt::format("input {}", number) : fmt::format("the input {}", label);
}

void check_inputs(const GraphData& graph, std::span<const Tensor> inputs, Location location) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!is_smooth(inputs[i].dtype()))
      fail("gradient",
           fmt::format("{} is {}; only floating values have a gradient, leave it out",
                       describe_input(graph, inputs[i], i), type_text(*inputs[i].node())),
           location);
}

/// The cotangent of `output` that the user passed; 1 if there is none. Throws UserError if the
/// cotangent does not match the output, or is missing for an output that is not a scalar.
Tensor checked_cotangent(GraphData& graph, const Node& output, std::optional<Tensor> cotangent,
                         Location location) {
  if (!is_smooth(output.dtype))
    fail("gradient",
         fmt::format("output is {}; only floating values have a gradient, cast it first",
                     type_text(output)),
         location);
  if (!cotangent) {
    if (output.rank() != 0)
      fail("gradient",
           fmt::format("output is {}, not a scalar; pass a cotangent of that shape",
                       type_text(output)),
           location);
    const Attribute attributes[] = {{}, {.literal = Literal::of(1.0)}, {.dtype = output.dtype}};
    return record_node(graph, Op::full, output.dtype, {}, {}, attributes, location);
  }
  const Node& given = *cotangent->node();
  if (given.dtype != output.dtype || !std::ranges::equal(given.shape, output.shape))
    fail("gradient",
         fmt::format("output is {} and the cotangent {}; pass one with the output's dtype and "
                     "shape",
                     type_text(output), type_text(given)),
         location);
  return *cotangent;
}

}  // namespace

std::vector<Tensor> gradient(Tensor output, std::span<const Tensor> inputs,
                             std::optional<Tensor> cotangent, const char* file, int line) {
  const Location location{file, line};
  std::vector<Operand> operands = {Operand(output, file, line)};
  for (const Tensor input : inputs) operands.emplace_back(input, file, line);
  if (cotangent) operands.emplace_back(*cotangent, file, line);
  GraphData& graph = graph_of("gradient", refs_to(operands));
  const LocationScope scope(operands[0]);

  check_inputs(graph, inputs, location);
  const Tensor seed = checked_cotangent(graph, *output.node(), cotangent, location);
  Gradient reverse_pass(graph, output.node(), location);
  reverse_pass.run(inputs, seed);
  std::vector<Tensor> results;
  for (const Tensor input : inputs) results.push_back(reverse_pass.of(input));
  return results;
}

std::vector<Tensor> gradient(Tensor output, std::initializer_list<Tensor> inputs,
                             std::optional<Tensor> cotangent, const char* file, int line) {
  return gradient(output, std::span<const Tensor>(inputs.begin(), inputs.size()), cotangent, file,
                  line);
}

}  // namespace sinter
