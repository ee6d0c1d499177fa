// Concats whose operands a kernel has at hand: it stores each where it belongs, as it does the rows
// of a result and the zeros that pad them.
#include <algorithm>

#include "compiler/body_builder.h"
#include "ir/structural.h"

namespace sinter {

namespace {

bool is_number_throughout(const Node& node) { return is_free(node) && node.op != Op::iota; }

std::size_t axis_of(const Node& concat) {
  return static_cast<std::size_t>(attribute(concat, "axis").integer);
}

}  // namespace

bool BodyBuilder::store_concat_where_found(std::size_t place) {
  const Node& node = *request_.stores[place].node;
  if (node.op != Op::concat || cut_.pieces > 1) return false;
  std::vector<Part> parts;
  const auto is_number = [&](std::size_t i) { return is_number_throughout(*node.operand(i)); };
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    if (is_number(i)) continue;
    std::optional<Part> part = part_where_found(place, node, i);
    if (!part) return false;
    parts.push_back(std::move(*part));
  }
  const std::size_t at_hand = parts.size();
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    if (!is_number(i)) continue;
    std::optional<Part> part;
    for (std::size_t beside = 0; beside < at_hand && !part; ++beside)
      part = number_beside(parts[beside], node, i);
    if (!part) return false;
    parts.push_back(std::move(*part));
  }
  std::vector<BodyStore> stores;
  for (Part& part : parts) {
    const Piece piece = concat_piece(node, part.operand);
    Index& along = part.covered.position[axis_of(node)];
    along = body_.space.add(along, constant_index(piece.begin));
    stores.push_back(covered_store(place, part.site, std::move(part.covered),
                                   product(node.operand(part.operand)->shape)));
  }
  store_of(place) = std::move(stores.front());
  body_.stores.insert(body_.stores.end(), stores.begin() + 1, stores.end());
  return true;
}

std::optional<BodyBuilder::Part> BodyBuilder::part_where_found(std::size_t place,
                                                               const Node& concat,
                                                               std::size_t operand) {
  const Node& node = *concat.operand(operand);
  llvm::DenseSet<const Node*> seen;
  std::vector<Site> sites;
  find_sites(node, seen, sites);
  for (const Site& site : sites) {
    std::optional<Cover> covered = cover(body_, is_of_elements(site), site, node.shape);
    if (!covered) continue;
    const Index at = address(body_.space, covered->position, strides_of(request_.stores[place]));
    if (is_of_elements(site) && !moves_along_loads(at)) continue;
    return Part{.site = site, .covered = std::move(*covered), .operand = operand};
  }
  return std::nullopt;
}

std::optional<BodyBuilder::Part> BodyBuilder::number_beside(const Part& beside, const Node& concat,
                                                            std::size_t operand) {
  const Node& node = *concat.operand(operand);
  const std::size_t axis = axis_of(concat);
  Site site = beside.site;
  if (site.whole) return std::nullopt;
  Index& along = site.position[axis];
  site.conditions.push_back({.at = body_.space.plain(along), .begin = 0, .end = node.shape[axis]});
  along = body_.space.bounded(along, node.shape[axis]);
  site.node = &node;
  site.value = evaluate(node, site.position);
  site.from = nullptr;
  std::optional<Cover> covered = cover(body_, is_of_elements(site), site, node.shape);
  if (!covered) return std::nullopt;
  return Part{.site = std::move(site), .covered = std::move(*covered), .operand = operand};
}

}  // namespace sinter
