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

void check_new_input(GraphData& data, std::string_view name, Location location) {
  if (name.empty())
    throw UserError(
        fmt::format("input: the name is empty; give it one (recorded at {})", to_string(location)));
  if (data.has_input(std::string(name)))
    throw UserError(fmt::format(
        "input {}: the graph {} already has an input of this name (recorded at {}); use another "
        "name (recorded at {})",
        name, data.name,
        data.location_text(std::ranges::find(data.inputs, name, &InputInfo::name)->node),
        to_string(location)));
}

// `what()` gives the name of an input or output in messages. It is called only for an error.

void check_owner(const GraphData& data, const Operand& operand, auto what) {
  if (operand.is_literal())
    throw UserError(
        fmt::format("{}: a number is not a Tensor; record it with full (recorded at {})", what(),
                    to_string(operand.location)));
  if (operand.tensor.graph() != &data)
    throw UserError(fmt::format("{}: the value belongs to graph {}, not to {} (recorded at {})",
                                what(), operand.tensor.graph()->name, data.name,
                                to_string(operand.location)));
}

void check_strides(auto what, std::span<const Extent> strides, Location location) {
  for (const Extent stride : strides)
    if (provably_negative(stride))
      throw UserError(
          fmt::format("{}: strides {} are negative; use flip to reverse an axis "
                      "(recorded at {})",
                      what(), to_string(strides), to_string(location)));
}

}  // namespace

Tensor Graph::input(std::string_view name, DType dtype, Extents shape, InputOptions options,
                    const char* file, int line) {
  const Location location{file, line};
  const auto what = [&] { return fmt::format("input {}", name); };
  check_new_input(*data_, name, location);
  if (shape.size() > kMaxRank)
    throw UserError(fmt::format("input {}: rank {} is more than {} (recorded at {})", name,
                                shape.size(), kMaxRank, to_string(location)));
  for (const Extent extent : shape)
    if (provably_negative(extent))
      throw UserError(fmt::format("input {}: {} has a negative extent (recorded at {})", name,
                                  to_string(shape), to_string(location)));
  if (is_too_large(shape)) check_size(what(), shape, location);
  if (!options.strides.empty() && options.strides.size() != shape.size())
    throw UserError(
        fmt::format("input {}: {} strides {} for a shape of rank {} {} (recorded at {})", name,
                    options.strides.size(), to_string(options.strides), shape.size(),
                    to_string(shape), to_string(location)));
  check_strides(what, options.strides, location);
  const Attribute attributes[] = {{.integer = static_cast<std::int64_t>(data_->inputs.size())},
                                  {.extents = options.strides}};
  const Node* node = data_->make(
      {.op = Op::input, .dtype = dtype, .operands = {}, .shape = shape, .attributes = attributes},
      location);
  data_->inputs.push_back(
      {.name = std::string(name), .node = node, .low = options.low, .high = options.high});
  data_->set_label(node, name);
  return tensor(*data_, node);
}

Tensor Graph::scalar(std::string_view name, DType dtype, const char* file, int line) {
  const Location location{file, line};
  check_new_input(*data_, name, location);
  const Attribute attributes[] = {{.integer = static_cast<std::int64_t>(data_->inputs.size())}};
  const Node* node = data_->make(
      {.op = Op::scalar, .dtype = dtype, .operands = {}, .shape = {}, .attributes = attributes},
      location);
  data_->inputs.push_back({.name = std::string(name), .node = node});
  data_->set_label(node, name);
  return tensor(*data_, node);
}

void Graph::output(std::string_view name, Operand value, OutputOptions options) {
  const auto what = [&] { return fmt::format("output {}", name); };
  check_owner(*data_, value, what);
  if (name.empty())
    throw UserError(fmt::format("output: the name is empty; give it one (recorded at {})",
                                to_string(value.location)));
  if (data_->has_output(std::string(name)))
    throw UserError(fmt::format(
        "output {}: the graph {} already has an output of this name (recorded at {}); use another "
        "name (recorded at {})",
        name, data_->name,
        to_string(std::ranges::find(data_->outputs, name, &OutputInfo::name)->location),
        to_string(value.location)));
  const Node& node = *value.tensor.node();
  const auto strides_text = [&] { return to_string(options.strides); };
  if (!options.strides.empty() && options.strides.size() != node.shape.size())
    throw UserError(
        fmt::format("output {}: {} strides {} for a value of rank {}, {} (recorded at {})", name,
                    options.strides.size(), strides_text(), node.rank(), type_text(node),
                    to_string(value.location)));
  check_strides(what, options.strides, value.location);
  if (!options.strides.empty() && !may_be_injective(node.shape, options.strides))
    throw UserError(fmt::format(
        "output {}: strides {} put two elements of {} at one offset; make each stride larger than "
        "the range of the smaller strides (recorded at {})",
        name, strides_text(), type_text(node), to_string(value.location)));
  OutputInfo output{.name = std::string(name), .node = &node, .location = value.location};
  if (!std::ranges::equal(options.strides, row_major_strides(node.shape)))
    output.strides.assign(options.strides.begin(), options.strides.end());
  data_->outputs.push_back(std::move(output));
  if (data_->label(value.tensor.node()).empty()) data_->set_label(value.tensor.node(), name);
}

void Graph::update(Operand parameter, Operand value) {
  const auto what = [] { return "update"; };
  check_owner(*data_, parameter, what);
  check_owner(*data_, value, what);
  const Node* target = parameter.tensor.node();
  const Node* source = value.tensor.node();
  const std::string location = to_string(parameter.location);
  if (target->op != Op::input)
    throw UserError(
        fmt::format("update: {} is not an input; only an input array can be written in "
                    "place (recorded at {})",
                    info(target->op).name, location));
  if (target->dtype != source->dtype || !std::ranges::equal(target->shape, source->shape))
    throw UserError(fmt::format("update {}: the input is {} but the value is {} (recorded at {})",
                                data_->label(target), type_text(*target), type_text(*source),
                                location));
  const std::span<const Extent> strides = attribute(*target, "strides").extents;
  if (!strides.empty() && !may_be_injective(target->shape, strides))
    throw UserError(fmt::format(
        "update {}: its strides {} put two elements of {} at one offset, so it cannot be written "
        "(recorded at {})",
        data_->label(target), to_string(strides), type_text(*target), location));
  if (data_->has_update(target))
    throw UserError(fmt::format(
        "update {}: it already has an update (recorded at {}); give one update per input (recorded "
        "at {})",
        data_->label(target),
        to_string(std::ranges::find(data_->updates, target, &UpdateInfo::parameter)->location),
        location));
  data_->updates.push_back({.parameter = target, .value = source, .location = parameter.location});
}

}  // namespace sinter
