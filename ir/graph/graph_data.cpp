// GraphData: hashing, uniquing, storage and removal of nodes.
#include "ir/graph/node.h"

#include <algorithm>
#include <cstring>

#include "sinter/error.h"

namespace sinter {

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  // One round of the finaliser of MurmurHash3. It is cheap, and mixes enough to avoid long probes.
  hash = (hash ^ value) * 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 33);
}

std::uint64_t mix(std::uint64_t hash, Extent extent) {
  return mix(hash, extent.is_number() ? static_cast<std::uint64_t>(extent.number())
                                      : extent.expression()->hash);
}

/// A copy of the node in another graph has the same hash.
std::uint64_t hash_of(const NodeDraft& draft) {
  std::uint64_t hash = mix(static_cast<std::uint64_t>(draft.op) * 0x9e3779b97f4a7c15ULL,
                           static_cast<std::uint64_t>(draft.dtype));
  for (const Node* operand : draft.operands) hash = mix(hash, operand->hash);
  for (const Attribute& attribute : draft.attributes) {
    hash = mix(hash, static_cast<std::uint64_t>(attribute.integer));
    hash = mix(hash, static_cast<std::uint64_t>(attribute.dtype));
    hash = mix(hash, literal_bits(attribute.literal));
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

/// Compares a node with a draft that has the same hash.
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
  return make(draft, location, hash_of(draft));
}

const Node* GraphData::make(const NodeDraft& draft, Location location, std::uint64_t hash) {
  if (const Node* known = find(draft, hash)) return known;
  return create_node(draft, location, hash);
}

void GraphData::retain_nodes(std::span<const Node* const> live) {
  std::vector<std::uint32_t> numbers(nodes.size(), IdTable::kNone);  // by id
  std::uint32_t count = 0;
  for (const InputInfo& input : inputs) numbers[input.node->id] = count++;
  for (const Node* node : live)
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
    const_cast<Node*>(left[number])->id = number;  // NOLINT: created by `create_node`
  nodes = std::move(left);
  locations_ = std::move(locations);
  labels_ = std::move(labels);
  live_count_ = count == live.size() ? count : 0;
}

bool GraphData::is_unique(const Node& node) const {
  const NodeDraft content{.op = node.op,
                          .dtype = node.dtype,
                          .operands = node.operands,
                          .shape = node.shape,
                          .attributes = node.attributes};
  return find(content) == &node;
}

void GraphData::reserve(std::size_t count) {
  nodes.reserve(count);
  locations_.reserve(count);
  unique_.reserve(count);
}

const Node* GraphData::create_node(const NodeDraft& draft, Location location, std::uint64_t hash) {
  // Most results have the shape of an operand. Sharing it makes comparisons of shapes cheap.
  const auto same_shape_operand = std::ranges::find_if(draft.operands, [&](const Node* operand) {
    return std::ranges::equal(operand->shape, draft.shape);
  });
  const std::span<const Extent> shape =
      same_shape_operand == draft.operands.end() ? copy(draft.shape) : (*same_shape_operand)->shape;
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
      if (!attribute.text.empty())
        attribute.text = {copy_text(attribute.text), attribute.text.size()};
    }
    node->attributes = attributes;
  }
  unique_.add(hash, node->id);
  nodes.push_back(node);
  locations_.push_back(location);
  return node;
}

std::string GraphData::location_text(const Node* node) const { return to_string(location(node)); }

std::string_view GraphData::label(const Node* node) const {
  const char* const label = node->id < labels_.size() ? labels_[node->id] : nullptr;
  return label ? std::string_view(label) : std::string_view();
}

void GraphData::set_label(const Node* node, std::string_view label) {
  if (node->id >= labels_.size()) {
    labels_.reserve(
        nodes.capacity());  // usually reserved for all nodes; repeated growth would be slower
    labels_.resize(node->id + 1);
  }
  labels_[node->id] = copy_text(label);
}

const char* GraphData::copy_text(std::string_view text) {
  char* copy = arena_.Allocate<char>(text.size() + 1);
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

}  // namespace sinter
