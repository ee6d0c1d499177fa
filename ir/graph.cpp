#include "sinter/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/layout.h"
#include "ir/record.h"
#include "sinter/error.h"

namespace sinter {

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  // The finaliser of MurmurHash3, over a running sum: cheap, and good enough to avoid long probes.
  hash = (hash ^ value) * 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 33);
}

std::uint64_t mix(std::uint64_t hash, Extent extent) {
  return mix(hash, extent.is_number() ? static_cast<std::uint64_t>(extent.number())
                                      : extent.expression()->hash);
}

std::uint64_t bits(const Literal& literal) {
  if (literal.kind != Literal::Kind::real) return static_cast<std::uint64_t>(literal.integer);
  std::uint64_t result = 0;
  std::memcpy(&result, &literal.real, sizeof result);
  return result;
}

/// Copies in other graphs have the same.
std::uint64_t hash_of(const NodeDraft& draft) {
  std::uint64_t hash = mix(static_cast<std::uint64_t>(draft.op) * 0x9e3779b97f4a7c15ULL,
                           static_cast<std::uint64_t>(draft.dtype));
  for (const Node* operand : draft.operands) hash = mix(hash, operand->hash);
  for (const Attribute& attribute : draft.attributes) {
    hash = mix(hash, static_cast<std::uint64_t>(attribute.integer));
    hash = mix(hash, static_cast<std::uint64_t>(attribute.dtype));
    hash = mix(hash, bits(attribute.literal));
    hash = mix(hash, attribute.extent);
    for (const std::int64_t value : attribute.integers)
      hash = mix(hash, static_cast<std::uint64_t>(value));
    for (const Extent extent : attribute.extents) hash = mix(hash, extent);
    if (!attribute.text.empty()) hash = mix(hash, std::hash<std::string_view>()(attribute.text));
  }
  return hash;
}

bool equal(const Attribute& a, const Attribute& b) {
  return a.integer == b.integer && a.dtype == b.dtype && same_bits(a.literal, b.literal) &&
         a.extent == b.extent && std::ranges::equal(a.integers, b.integers) &&
         std::ranges::equal(a.extents, b.extents) && a.text == b.text;
}

}  // namespace

bool same_bits(const Literal& a, const Literal& b) {
  return a.kind == b.kind && bits(a) == bits(b);
}

std::string whole_text(const Literal& literal) {
  if (literal.kind == Literal::Kind::natural)
    return fmt::format("{}", static_cast<std::uint64_t>(literal.integer));
  if (literal.kind == Literal::Kind::real) return fmt::format("{}", literal.real);
  return fmt::format("{}", literal.integer);
}

double as_real(const Literal& literal) {
  return literal.kind == Literal::Kind::real ? literal.real
                                             : static_cast<double>(integer_of(literal));
}

namespace {

/// What is left to compare of two nodes with one hash.
bool equal(const Node& node, const NodeDraft& draft) {
  return draft.op == node.op && draft.dtype == node.dtype &&
         std::ranges::equal(draft.operands, node.operands) &&
         std::ranges::equal(draft.shape, node.shape) &&
         std::ranges::equal(draft.attributes, node.attributes,
                            [](const Attribute& a, const Attribute& b) { return equal(a, b); });
}

}  // namespace

const Node* GraphData::find(const NodeDraft& draft, std::uint64_t hash) const {
  const auto known = unique_.find(hash, [&](std::uint32_t id) { return equal(*nodes[id], draft); });
  return known ? nodes[*known] : nullptr;
}

const Node* GraphData::find(const NodeDraft& draft) const { return find(draft, hash_of(draft)); }

const Node* GraphData::make(const NodeDraft& draft, Location location) {
  const std::uint64_t hash = hash_of(draft);
  if (const Node* known = find(draft, hash)) return known;
  return settle(hash, draft, location);
}

const Node* GraphData::copy(const Node& node, const NodeDraft& draft, Location location) {
  return settle(node.hash, draft, location);
}

const Node* GraphData::copy_once(const Node& node, const NodeDraft& draft, Location location) {
  if (const Node* known = find(draft, node.hash)) return known;
  return settle(node.hash, draft, location);
}

void GraphData::keep_only(std::span<const Node* const> kept) {
  std::vector<std::uint32_t> numbers(nodes.size(), IdTable::kNone);  // by id
  std::uint32_t count = 0;
  for (const InputInfo& input : inputs) numbers[input.node->id] = count++;
  for (const Node* node : kept)
    if (numbers[node->id] == IdTable::kNone) numbers[node->id] = count++;
  std::vector<const Node*> left(count);
  std::vector<Location> locations(count);
  std::vector<const char*> labels(labels_.empty() ? 0 : count);
  for (const Node* node : nodes) {
    const std::uint32_t number = numbers[node->id];
    if (number == IdTable::kNone) continue;
    left[number] = node;
    locations[number] = locations_[node->id];
    if (node->id < labels_.size()) labels[number] = labels_[node->id];
  }
  unique_.renumber(numbers);
  for (std::uint32_t number = 0; number < count; ++number)
    const_cast<Node*>(left[number])->id = number;  // NOLINT: ours, made in `settle`
  nodes = std::move(left);
  locations_ = std::move(locations);
  labels_ = std::move(labels);
  needed_ = count == kept.size() ? count : 0;
}

bool GraphData::is_unique(const Node& node) const {
  const NodeDraft content{.op = node.op,
                          .dtype = node.dtype,
                          .operands = node.operands,
                          .shape = node.shape,
                          .attributes = node.attributes};
  const auto known = unique_.find(hash_of(content), [&](std::uint32_t id) {
    return nodes[id] == &node || equal(*nodes[id], content);
  });
  return known && nodes[*known] == &node;
}

void GraphData::reserve(std::size_t count) {
  nodes.reserve(count);
  locations_.reserve(count);
  unique_.reserve(count);
}

const Node* GraphData::settle(std::uint64_t hash, const NodeDraft& draft, Location location) {
  // Most results have the shape of an operand: then the shape is shared, and its equality is cheap.
  const auto alike = std::ranges::find_if(draft.operands, [&](const Node* operand) {
    return std::ranges::equal(operand->shape, draft.shape);
  });
  const std::span<const Extent> shape =
      alike == draft.operands.end() ? copy(draft.shape) : (*alike)->shape;
  Node* node = new (arena_.Allocate<Node>()) Node{.hash = hash,
                                                  .op = draft.op,
                                                  .dtype = draft.dtype,
                                                  .id = static_cast<std::uint32_t>(nodes.size()),
                                                  .operands = copy(draft.operands),
                                                  .shape = shape};
  if (!draft.attributes.empty()) {
    std::span<Attribute> attributes(arena_.Allocate<Attribute>(draft.attributes.size()),
                                    draft.attributes.size());
    std::ranges::copy(draft.attributes, attributes.begin());
    for (Attribute& attribute : attributes) {
      attribute.integers = copy(attribute.integers);
      attribute.extents = copy(attribute.extents);
      if (!attribute.text.empty()) attribute.text = {keep(attribute.text), attribute.text.size()};
    }
    node->attributes = attributes;
  }
  unique_.add(hash, node->id);
  nodes.push_back(node);
  locations_.push_back(location);
  return node;
}

std::string to_string(Location location) {
  const std::string_view path = location.file;
  const std::size_t slash = path.rfind('/');
  return fmt::format("{}:{}", slash == path.npos ? path : path.substr(slash + 1), location.line);
}

std::string GraphData::place(const Node* node) const { return to_string(location(node)); }

std::string_view GraphData::label(const Node* node) const {
  const char* const label = node->id < labels_.size() ? labels_[node->id] : nullptr;
  return label ? std::string_view(label) : std::string_view();
}

void GraphData::set_label(const Node* node, std::string_view label) {
  if (node->id >= labels_.size()) {
    labels_.reserve(
        nodes.capacity());  // most often that is known, and growing would take as much again
    labels_.resize(node->id + 1);
  }
  labels_[node->id] = keep(label);
}

const char* GraphData::keep(std::string_view text) {
  char* place = arena_.Allocate<char>(text.size() + 1);
  std::memcpy(place, text.data(), text.size());
  place[text.size()] = '\0';
  return place;
}

std::string type_text(const Node& node) {
  return std::string(name(node.dtype)) + to_string(node.shape);
}

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
        "input {}: the graph {} has an input of this name already (recorded at {}); take another "
        "name (recorded at {})",
        name, data.name, data.place(std::ranges::find(data.inputs, name, &InputInfo::name)->node),
        to_string(location)));
}

// What inputs and outputs are called in messages, `what()`, is put into words only for these.

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
          fmt::format("{}: strides {} go backwards; they must not be negative, use flip for that "
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
        "output {}: the graph {} has an output of this name already (recorded at {}); take another "
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
  if (!options.strides.empty() && !may_be_apart(node.shape, options.strides))
    throw UserError(fmt::format(
        "output {}: strides {} put two elements of {} in one place; give each its own, each stride "
        "larger than what the smaller ones reach (recorded at {})",
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
  const std::string place = to_string(parameter.location);
  if (target->op != Op::input)
    throw UserError(
        fmt::format("update: {} is not an input; only an input array can be written in "
                    "place (recorded at {})",
                    info(target->op).name, place));
  if (target->dtype != source->dtype || !std::ranges::equal(target->shape, source->shape))
    throw UserError(fmt::format("update {}: the input is {} but the value is {} (recorded at {})",
                                data_->label(target), type_text(*target), type_text(*source),
                                place));
  const std::span<const Extent> strides = attribute(*target, "strides").extents;
  if (!strides.empty() && !may_be_apart(target->shape, strides))
    throw UserError(fmt::format(
        "update {}: its strides {} put two elements of {} in one place, so it cannot be written "
        "(recorded at {})",
        data_->label(target), to_string(strides), type_text(*target), place));
  if (data_->has_update(target))
    throw UserError(fmt::format(
        "update {}: it is updated already (recorded at {}); one update per input (recorded at {})",
        data_->label(target),
        to_string(std::ranges::find(data_->updates, target, &UpdateInfo::parameter)->location),
        place));
  data_->updates.push_back({.parameter = target, .value = source, .location = parameter.location});
}

}  // namespace sinter
