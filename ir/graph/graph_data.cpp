#include "ir/graph/node.h"

#include <algorithm>
#include <cstring>

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

}  // namespace sinter
