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

/// True for a cotangent that is 0 everywhere, as the table's `zero` is.
bool is_known_zero(Tensor cotangent) {
  const Node* node = cotangent.node();
  while (node->op == Op::reshape || node->op == Op::broadcast_to || node->op == Op::cast)
    node = node->operand(0);
  const bool is_uniform = node->op == Op::constant || node->op == Op::full;
  return is_uniform && as_real(attribute(*node, "value").literal) == 0;
}

/// False where the user says that the result is a constant, and where it is one but for jumps: a
/// comparison, a place, a cast to integers. The bits of a number are none of these.
bool can_carry(const Node& node, const Node& operand) {
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
  /// Of the value of `input`.
  Tensor of(Tensor input) const {
    const std::size_t id = input.node()->id;
    const bool has_one = id < cotangents_.size() && cotangents_[id].node();
    return has_one ? cotangents_[id] : zeros_like(input);
  }

 private:
  void mark_ways(std::span<const Tensor> inputs);
  void pass_on(const Node* node);
  /// Throws where `cotangent`, which the vjp of a custom op gives for operand `i`, cannot be one.
  void check_custom(const Node& node, std::size_t i, Tensor cotangent) const;
  /// Adds to the cotangent of `operand`, whose dtype and shape this one may still lack.
  void give(const Node* operand, Tensor cotangent);
  [[noreturn]] void refuse(const Node* node) const;

  GraphData& graph_;
  const Node* output_;
  Location location_;
  std::vector<bool> is_on_way_;     ///< by id: a change of some input may change it
  std::vector<Tensor> cotangents_;  ///< by id; empty: 0
};

void Gradient::mark_ways(std::span<const Tensor> inputs) {
  is_on_way_.assign(output_->id + std::size_t{1}, false);
  std::size_t first = is_on_way_.size();
  for (const Tensor input : inputs) {
    const std::size_t id = input.node()->id;
    if (id > output_->id) continue;
    is_on_way_[id] = true;
    first = std::min(first, id);
  }
  for (std::size_t id = first; id < is_on_way_.size(); ++id) {
    const Node& node = *graph_.nodes[id];
    for (const Node* operand : node.operands)
      if (is_on_way_[operand->id] && can_carry(node, *operand)) is_on_way_[id] = true;
  }
}

void Gradient::run(std::span<const Tensor> inputs, Tensor cotangent) {
  mark_ways(inputs);
  cotangents_.resize(output_->id + std::size_t{1});
  cotangents_[output_->id] = cotangent;
  // Operands have smaller ids than their users: by the time a node passes its cotangent on, it is
  // the sum of all.
  for (std::size_t id = cotangents_.size(); id-- > 0;)
    if (is_on_way_[id] && cotangents_[id].node()) pass_on(graph_.nodes[id]);
}

void Gradient::pass_on(const Node* node) {
  const std::size_t count = node->operands.size();
  const auto is_wanted = [&](std::size_t i) {
    return is_on_way_[node->operand(i)->id] && can_carry(*node, *node->operand(i));
  };
  const auto has_gradient = [&](std::size_t i) { return is_smooth(node->operand(i)->dtype); };
  bool is_any_wanted = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_wanted(i)) continue;
    is_any_wanted = true;
    const bool reads_bits = node->op == Op::cast || node->op == Op::bitcast;
    if (reads_bits && !has_gradient(i)) refuse(node);
  }
  if (!is_any_wanted) return;

  const Tensor y = tensor(graph_, node);
  const Tensor g = cotangents_[node->id];
  if (is_structural(node->op)) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_wanted(i) || !has_gradient(i)) continue;
      const Tensor cotangent = structural_vjp(y, i, g);
      if (!cotangent.node()) refuse(node);
      give(node->operand(i), cotangent);
    }
    return;
  }
  const CustomOptions* custom = node->op == Op::custom ? custom_options(graph_, *node) : nullptr;
  const bool has_custom = custom && custom->vjp;
  if (!vjp_of(node->op) && !has_custom) refuse(node);
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
    give(node->operand(i), cotangents[i]);
  }
}

void Gradient::check_custom(const Node& node, std::size_t i, Tensor cotangent) const {
  const auto refuse_it = [&](std::string_view what) {
    fail("gradient",
         fmt::format("the vjp of custom op {} gives for operand {} a cotangent {}",
                     attribute(node, "name").text, i + 1, what),
         location_);
  };
  if (cotangent.graph() != &graph_)
    refuse_it(fmt::format("of the graph {}, not of {}; record it from the operands, y and g",
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
    refuse_it(
        fmt::format("{} that cannot be summed to {}; give one of the operand's shape or of "
                    "y's, or {{}} for 0",
                    type_text(given), type_text(operand)));
}

void Gradient::give(const Node* operand, Tensor cotangent) {
  if (is_known_zero(cotangent)) return;
  const Tensor whole = cast(unbroadcast(cotangent, operand->shape), operand->dtype);
  Tensor& so_far = cotangents_[operand->id];
  so_far = so_far.node() ? so_far + whole : whole;
}

void Gradient::refuse(const Node* node) const {
  fail("gradient",
       fmt::format("{} at {} has no gradient; leave it off the ways from the inputs to the output",
                   info(node->op).name, graph_.place(node)),
       location_);
}

/// `the input x`, or its number where it has no name.
std::string described_input(const GraphData& graph, Tensor input, std::size_t number) {
  const std::string_view label = graph.label(input.node());
  return label.empty() ? fmt::format("input {}", number) : fmt::format("the input {}", label);
}

void check_inputs(const GraphData& graph, std::span<const Tensor> inputs, Location location) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!is_smooth(inputs[i].dtype()))
      fail("gradient",
           fmt::format("{} is {}; only floating values have a gradient, leave it out",
                       described_input(graph, inputs[i], i), type_text(*inputs[i].node())),
           location);
}

/// The cotangent of `output` that the user gave; 1 if none is needed.
Tensor checked_cotangent(GraphData& graph, const Node& output, std::optional<Tensor> cotangent,
                         Location location) {
  if (!is_smooth(output.dtype))
    fail("gradient",
         fmt::format("output is {}; only floating values have a gradient, cast it before",
                     type_text(output)),
         location);
  if (!cotangent) {
    if (output.rank() != 0)
      fail("gradient",
           fmt::format("output is {}, not one number; give a cotangent of that shape",
                       type_text(output)),
           location);
    const Attribute attributes[] = {{}, {.literal = Literal::of(1.0)}, {.dtype = output.dtype}};
    return tensor(graph, graph.make({.op = Op::full,
                                     .dtype = output.dtype,
                                     .operands = {},
                                     .shape = {},
                                     .attributes = attributes},
                                    location));
  }
  const Node& given = *cotangent->node();
  if (given.dtype != output.dtype || !std::ranges::equal(given.shape, output.shape))
    fail("gradient",
         fmt::format("output is {} and the cotangent {}; give one of the output's dtype and shape",
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
  const LocationScope place(operands[0]);

  check_inputs(graph, inputs, location);
  const Tensor seed = checked_cotangent(graph, *output.node(), cotangent, location);
  Gradient walk(graph, output.node(), location);
  walk.run(inputs, seed);
  std::vector<Tensor> results;
  for (const Tensor input : inputs) results.push_back(walk.of(input));
  return results;
}

std::vector<Tensor> gradient(Tensor output, std::initializer_list<Tensor> inputs,
                             std::optional<Tensor> cotangent, const char* file, int line) {
  return gradient(output, std::span<const Tensor>(inputs.begin(), inputs.size()), cotangent, file,
                  line);
}

}  // namespace sinter
