#include "tools/onnx/node/attributes.h"

#include "ir/text/lexer.h"
#include "sinter/error.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace sinter::onnx {

namespace {

constexpr std::array kAttributeKinds = {
    "no kind",        "FLOAT",      "INT",        "STRING",  "TENSOR", "GRAPH",
    "FLOATS",         "INTS",       "STRINGS",    "TENSORS", "GRAPHS", "SPARSE_TENSOR",
    "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};

std::string kind_name(std::int32_t type) {
  if (type >= 0 && type < static_cast<std::int32_t>(kAttributeKinds.size()))
    return kAttributeKinds[static_cast<std::size_t>(type)];
  return fmt::format("kind {}", type);
}

}  // namespace

Attributes::Attributes(const NodeProto& node, const FunctionAttributes* outer) {
  for (const AttributeProto& attribute : node.attribute) {
    const AttributeProto* value = &attribute;
    if (!attribute.ref_attr_name.empty()) {
      const std::string shown = printable(attribute.ref_attr_name);
      if (!outer)
        throw UserError(
            fmt::format("attribute {} refers to '{}', but only nodes of functions may do so",
                        printable(attribute.name), shown));
      const auto found = outer->find(attribute.ref_attr_name);
      if (found == outer->end())
        throw UserError(
            fmt::format("attribute {} refers to '{}', which the function does not declare",
                        printable(attribute.name), shown));
      value = found->second;
      if (!value) continue;  // optional, and not given
    }
    if (!by_name_.emplace(attribute.name, value).second)
      throw UserError(fmt::format("attribute {} is given twice", printable(attribute.name)));
  }
}

const AttributeProto* Attributes::find(std::string_view name) const {
  used_.insert(name);
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const AttributeProto* Attributes::find(std::string_view name, AttributeType type) const {
  const AttributeProto* const attribute = find(name);
  if (attribute && attribute->type != static_cast<std::int32_t>(type))
    throw UserError(fmt::format("attribute {} is {}, but the op takes {}", name,
                                kind_name(attribute->type),
                                kind_name(static_cast<std::int32_t>(type))));
  return attribute;
}

void Attributes::fail_missing(std::string_view name) {
  throw UserError(fmt::format("attribute {} is missing", name));
}

std::int64_t Attributes::integer(std::string_view name, std::int64_t otherwise) const {
  const AttributeProto* const found = find(name, AttributeType::integer);
  return found ? found->i : otherwise;
}

double Attributes::real(std::string_view name, double otherwise) const {
  const AttributeProto* const found = find(name, AttributeType::real);
  return found ? found->f : otherwise;
}

std::string Attributes::text(std::string_view name, std::string_view otherwise) const {
  const AttributeProto* const found = find(name, AttributeType::text);
  return std::string(found ? found->s : otherwise);
}

std::vector<std::int64_t> Attributes::integers(std::string_view name,
                                               std::vector<std::int64_t> otherwise) const {
  const AttributeProto* const found = find(name, AttributeType::integers);
  return found ? found->ints : otherwise;
}

std::vector<double> Attributes::reals(std::string_view name) const {
  const AttributeProto* const found = find(name, AttributeType::reals);
  return found ? std::vector<double>(found->floats.begin(), found->floats.end())
               : std::vector<double>();
}

std::vector<std::string> Attributes::texts(std::string_view name) const {
  const AttributeProto* const found = find(name, AttributeType::texts);
  return found ? std::vector<std::string>(found->strings.begin(), found->strings.end())
               : std::vector<std::string>();
}

std::int64_t Attributes::integer(std::string_view name) const {
  const AttributeProto* const found = find(name, AttributeType::integer);
  if (!found) fail_missing(name);
  return found->i;
}

std::string Attributes::text(std::string_view name) const {
  const AttributeProto* const found = find(name, AttributeType::text);
  if (!found) fail_missing(name);
  return std::string(found->s);
}

const GraphProto& Attributes::graph(std::string_view name) const {
  const AttributeProto* const found = find(name, AttributeType::graph);
  if (!found || found->g.size() != 1) fail_missing(name);
  return found->g[0];
}

const TensorProto* Attributes::tensor(std::string_view name) const {
  const AttributeProto* const found = find(name, AttributeType::tensor);
  if (!found) return nullptr;
  if (found->t.size() != 1) fail_missing(name);
  return found->t.data();
}

void Attributes::refuse_unused() const {
  for (const auto& [name, attribute] : by_name_)
    if (!used_.contains(name))
      throw UserError(fmt::format("attribute {} is not supported", printable(name)));
}

}  // namespace sinter::onnx
