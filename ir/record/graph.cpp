// Graph and Tensor: checks and records inputs, outputs and updates.
#include "sinter/graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/record/record.h"
#include "ir/shape/strides.h"
#include "sinter/error.h"

namespace sinter {

void fail_empty_tensor(Location location) {
  throw UserError(
      fmt::format("the Tensor is empty; assign the result of an op or an input to it first "
                  "(recorded at {})",
                  to_string(location)));
}

namespace {

const Node& checked(const Node* node) {
  if (!node) throw UserError("the Tensor is empty; assign the result of an op or an input to it");
  return *node;
}

}  // namespace

DType Tensor::dtype() const { return checked(node_).dtype; }
std::span<const Extent> Tensor::shape() const { return checked(node_).shape; }
Tensor Tensor::label(std::string_view name) const {
  const Node& node = checked(node_);
  graph_->set_label(&node, name);
  return *this;
}

Graph::Graph(std::string_view name) : data_(std::make_unique<GraphData>(name)) {}
Graph::Graph(std::unique_ptr<GraphData> data) : data_(std::move(data)) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

std::string_view Graph::name() const { return data_->name; }

Extent Graph::extent(std::string_view name) { return data_->extents->symbol(name); }

namespace {

/// Throws UserError if `name` is empty, or the name of an input or output recorded at `known`.
/// `kind` is `input` or `output`.
void check_name(const GraphData& data, std::string_view kind, std::string_view name,
                std::optional<Location> known, Location location) {
  if (name.empty()) fail(kind, "the name is empty; give it one", location);
  if (known)
    fail(fmt::format("{} {}", kind, name),
         fmt::format(
             "the graph {} already has an {} of this name (recorded at {}); use another name",
             data.name, kind, to_string(*known)),
         location);
}

void check_input_name(GraphData& data, std::string_view name, Location location) {
  const InputInfo* const known = data.find_input(std::string(name));
  check_name(data, "input", name, known ? std::optional(data.location(known->node)) : std::nullopt,
             location);
}

// `what()` gives the name of an input or output in messages. It is called only for an error.

void check_owner(const GraphData& data, const Operand& operand, auto what) {
  if (operand.is_literal())
    fail(what(), "a number is not a Tensor; record it with full", operand.location);
  if (operand.tensor.graph() != &data)
    fail(what(),
         fmt::format("the value belongs to graph {}, not to {}", operand.tensor.graph()->name,
                     data.name),
         operand.location);
}

void check_strides(auto what, std::span<const Extent> strides, Location location) {
  for (const Extent stride : strides)
    if (provably_negative(stride))
      fail(what(),
           fmt::format("strides {} are negative; use flip to reverse an axis", to_string(strides)),
           location);
}

}  // namespace

Tensor Graph::input(std::string_view name, DType dtype, Extents shape, InputOptions options,
                    const char* file, int line) {
  const Location location{file, line};
  const auto what = [&] { return fmt::format("input {}", name); };
  check_input_name(*data_, name, location);
  if (shape.size() > kMaxRank)
    fail(what(), fmt::format("rank {} is more than {}", shape.size(), kMaxRank), location);
  for (const Extent extent : shape)
    if (provably_negative(extent))
      fail(what(), fmt::format("{} has a negative extent", to_string(shape)), location);
  if (is_too_large(shape)) check_size(what(), shape, location);
  if (!options.strides.empty() && options.strides.size() != shape.size())
    fail(what(),
         fmt::format("{} strides {} for a shape of rank {} {}", options.strides.size(),
                     to_string(options.strides), shape.size(), to_string(shape)),
         location);
  check_strides(what, options.strides, location);
  const Attribute attributes[] = {{.integer = static_cast<std::int64_t>(data_->inputs.size())},
                                  {.extents = options.strides}};
  const Tensor input = record_node(*data_, Op::input, dtype, {}, shape, attributes, location);
  data_->inputs.push_back(
      {.name = std::string(name), .node = input.node(), .low = options.low, .high = options.high});
  return input.label(name);
}

Tensor Graph::scalar(std::string_view name, DType dtype, const char* file, int line) {
  const Location location{file, line};
  check_input_name(*data_, name, location);
  const Attribute attribute = {.integer = static_cast<std::int64_t>(data_->inputs.size())};
  const Tensor input = record_node(*data_, Op::scalar, dtype, {}, {}, {&attribute, 1}, location);
  data_->inputs.push_back({.name = std::string(name), .node = input.node()});
  return input.label(name);
}

void Graph::output(std::string_view name, Operand value, OutputOptions options) {
  const auto what = [&] { return fmt::format("output {}", name); };
  check_owner(*data_, value, what);
  const OutputInfo* const known = data_->find_output(std::string(name));
  check_name(*data_, "output", name, known ? std::optional(known->location) : std::nullopt,
             value.location);
  const Node& node = *value.tensor.node();
  if (!options.strides.empty() && options.strides.size() != node.shape.size())
    fail(what(),
         fmt::format("{} strides {} for a value of rank {}, {}", options.strides.size(),
                     to_string(options.strides), node.rank(), type_text(node)),
         value.location);
  check_strides(what, options.strides, value.location);
  if (!options.strides.empty() && !may_be_injective(node.shape, options.strides))
    fail(what(),
         fmt::format("strides {} put two elements of {} at one offset; make each stride larger "
                     "than the range of the smaller strides",
                     to_string(options.strides), type_text(node)),
         value.location);
  OutputInfo output{.name = std::string(name), .node = &node, .location = value.location};
  if (!std::ranges::equal(options.strides, row_major_strides(node.shape)))
    output.strides.assign(options.strides.begin(), options.strides.end());
  data_->outputs.push_back(std::move(output));
  if (data_->label(&node).empty()) data_->set_label(&node, name);
}

void Graph::update(Operand parameter, Operand value) {
  const auto what = [] { return "update"; };
  check_owner(*data_, parameter, what);
  check_owner(*data_, value, what);
  const Node* target = parameter.tensor.node();
  const Node* source = value.tensor.node();
  if (target->op != Op::input)
    fail("update",
         fmt::format("{} is not an input; only an input array can be written in place",
                     info(target->op).name),
         parameter.location);
  const auto fail_input = [&](std::string_view message) {
    fail(fmt::format("update {}", data_->label(target)), message, parameter.location);
  };
  if (target->dtype != source->dtype || !std::ranges::equal(target->shape, source->shape))
    fail_input(
        fmt::format("the input is {} but the value is {}", type_text(*target), type_text(*source)));
  const std::span<const Extent> strides = attribute(*target, "strides").extents;
  if (!strides.empty() && !may_be_injective(target->shape, strides))
    fail_input(
        fmt::format("its strides {} put two elements of {} at one offset, so it cannot be written",
                    to_string(strides), type_text(*target)));
  if (const UpdateInfo* const known = data_->find_update(target))
    fail_input(fmt::format("it already has an update (recorded at {}); give one update per input",
                           to_string(known->location)));
  data_->updates.push_back({.parameter = target, .value = source, .location = parameter.location});
}

}  // namespace sinter
