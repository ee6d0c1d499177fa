// Queries of nodes, literals and locations.
#include "ir/graph/node.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/shape/strides.h"
#include "sinter/error.h"

namespace sinter {

bool same_bits(const Literal& a, const Literal& b) {
  return a.kind == b.kind && literal_bits(a) == literal_bits(b);
}

std::string decimal_text(const Literal& literal) {
  if (literal.kind == Literal::Kind::large_integer)
    return fmt::format("{}", static_cast<std::uint64_t>(literal.integer));
  if (literal.kind == Literal::Kind::real) return fmt::format("{}", literal.real);
  return fmt::format("{}", literal.integer);
}

double as_real(const Literal& literal) {
  return literal.kind == Literal::Kind::real ? literal.real
                                             : static_cast<double>(integer_of(literal));
}

const Attribute& attribute(const Node& node, std::string_view name) {
  const std::vector<AttributeInfo>& schema = info(node.op).attributes;
  for (std::size_t i = 0; i < schema.size(); ++i)
    if (schema[i].name == name) return node.attributes[i];
  throw InternalError(fmt::format("op {} has no attribute {}", info(node.op).name, name));
}

std::span<const std::int64_t> reduced_axes(const Node& node) {
  if (gives_index(node.op) || is_scan(node.op)) return {&node.attributes[0].integer, 1};
  return attribute(node, "axes").integers;
}

std::vector<std::int64_t> reduction_order(const Node& node) {
  std::span<const std::int64_t> order;
  if (!gives_index(node.op) && !is_scan(node.op)) order = attribute(node, "order").integers;
  if (order.empty()) order = reduced_axes(node);
  return {order.begin(), order.end()};
}

llvm::SmallVector<std::int64_t, 6> other_axes(const Node& x, std::span<const std::int64_t> axes) {
  llvm::SmallVector<std::int64_t, 6> result;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (std::ranges::find(axes, axis) == axes.end()) result.push_back(axis);
  return result;
}

Extent extent_of_axes(const Node& x, std::span<const std::int64_t> axes) {
  Extent result = 1;
  for (const std::int64_t axis : axes) result = result * x.shape[static_cast<std::size_t>(axis)];
  return result;
}

std::vector<Extent> parallel_extents(const Node& reduction) {
  const Node& operand = *reduction.operand(0);
  std::vector<Extent> result;
  for (const std::int64_t axis : other_axes(operand, reduced_axes(reduction)))
    result.push_back(operand.shape[static_cast<std::size_t>(axis)]);
  return result;
}

Extent reduced_extent(const Node& reduction) {
  return extent_of_axes(*reduction.operand(0), reduced_axes(reduction));
}

bool keeps_axes(const Node& node) { return attribute(node, "keep").integer != 0; }

std::string to_string(Location location) {
  const std::string_view path = location.file;
  const std::size_t slash = path.rfind('/');
  return fmt::format("{}:{}", slash == path.npos ? path : path.substr(slash + 1), location.line);
}

std::string type_text(const Node& node) {
  return std::string(name(node.dtype)) + to_string(node.shape);
}

std::vector<Extent> strides_of(const OutputInfo& output) {
  return output.strides.empty() ? row_major_strides(output.node->shape) : output.strides;
}

}  // namespace sinter
