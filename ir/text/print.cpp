// The printer of the text form.
#include "ir/text/print.h"

#include "ir/graph/opaque_node.h"
#include "ir/graph/operand_index.h"
#include "ir/text/lexer.h"
#include "sinter/text.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include <fmt/format.h>

namespace sinter {

namespace {

std::string real_text(double value, DType dtype) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  // For f32, the shortest text that reads back as the same f32. The parser rounds it again.
  std::string text = dtype == f32 || dtype == c64 ? fmt::format("{}", static_cast<float>(value))
                                                  : fmt::format("{}", value);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

std::string attribute_text(const AttributeInfo& info, const Attribute& value, const Node& node) {
  switch (info.kind) {
    case AttributeKind::integer: return fmt::format("{}", value.integer);
    case AttributeKind::boolean: return value.integer ? "true" : "false";
    case AttributeKind::string: return quote(value.text);
    case AttributeKind::dtype: return std::string(name(value.dtype));
    case AttributeKind::literal: return literal_text(value.literal, node.dtype);
    case AttributeKind::extent: return to_string(value.extent);
    case AttributeKind::integers: return fmt::format("[{}]", fmt::join(value.integers, ", "));
    case AttributeKind::extents: return to_string(value.extents);
  }
  return {};
}

/// True if the text must show the order of a reduction: it is not row-major, or parsing the text
/// would infer another order.
bool shows_order(const Node& node) {
  const std::span<const std::int64_t> order = attribute(node, "order").integers;
  return !order.empty() || !tree_order(*node.operand(0), reduced_axes(node)).empty();
}

/// True for an attribute of a library op that the text form omits.
bool is_default(const AttributeInfo& info, std::string_view text, const Node& node) {
  if (info.required()) return false;
  if (info.name == "result") return node.dtype == node.operand(0)->dtype;
  if (info.kind == AttributeKind::string)
    return attribute(node, info.name).text == info.default_text;
  if (info.kind != AttributeKind::integers) return text == info.default_text;
  const std::span<const std::int64_t> list = attribute(node, info.name).integers;
  if (info.name == "padding_end")
    return std::ranges::equal(list, attribute(node, "padding_begin").integers);
  const std::int64_t usual = info.name == "padding_begin" ? 0 : 1;  // strides and dilations are 1
  return std::ranges::count(list, usual) == std::ssize(list);
}

std::vector<std::string> attribute_texts(const Node& node) {
  std::vector<std::string> texts;
  const std::vector<AttributeInfo>& schema = info(node.op).attributes;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (schema[i].name == "order" && !shows_order(node)) continue;
    if (is_collective(node.op) && schema[i].name == "sequence") continue;  // the order of the text
    if (node.op == Op::custom && schema[i].name == "dtype") continue;  // follows from the source
    const std::string text = attribute_text(schema[i], node.attributes[i], node);
    if (is_library(node.op) && is_default(schema[i], text, node)) continue;
    texts.push_back(fmt::format("{} = {}", schema[i].name, text));
  }
  return texts;
}

std::string braced(const std::vector<std::string>& parts) {
  return parts.empty() ? "" : fmt::format(" {{{}}}", fmt::join(parts, ", "));
}

/// The operands of a statement: ` n, 2.0`.
std::string operands_text(const Node& node, const ValueNames& names) {
  std::string text;
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    const Node* operand = node.operand(i);
    text += i == 0 ? " " : ", ";
    text += is_inline_literal(node, i)
                ? literal_text(operand->attributes[0].literal, operand->dtype)
                : names.of(operand);
  }
  return text;
}

/// The statement of an opaque call if `node` is its first live result; otherwise empty.
std::string call_text(const GraphData& graph, const Node& node, const ValueNames& names) {
  std::vector<const Node*> results = results_of_call(graph, node);
  std::erase_if(results, [&](const Node* result) { return !result || names.of(result).empty(); });
  const Node* const first = *std::ranges::min_element(results, {}, &Node::id);
  return first == &node ? opaque_text(results, names) : std::string();
}

/// The first line of a graph, or one line per input if it is too long.
std::string header_text(const GraphData& graph, const ValueNames& names) {
  constexpr std::size_t kWidth = 100;
  std::vector<std::string> inputs;
  for (const InputInfo& input : graph.inputs) inputs.push_back(input_text(input, names));
  const std::string name = legal_name(graph.name);
  std::string line = fmt::format("graph {}({}) {{\n", name, fmt::join(inputs, ", "));
  if (line.size() <= kWidth + 1) return line;
  return fmt::format("graph {}(\n    {}) {{\n", name, fmt::join(inputs, ",\n    "));
}

std::string outputs_text(const GraphData& graph, const ValueNames& names) {
  std::vector<std::string> outputs;
  std::unordered_set<std::string> taken;
  for (const OutputInfo& output : graph.outputs) {
    std::string name = legal_name(output.name);
    while (!taken.insert(name).second) name += "_";
    const std::string& value = names.of(output.node);
    std::string text = name == value ? name : fmt::format("{} = {}", name, value);
    if (!output.strides.empty())
      text += braced({"strides = " + to_string(std::span<const Extent>(output.strides))});
    outputs.push_back(std::move(text));
  }
  return outputs.empty() ? "" : fmt::format("  return {}\n", fmt::join(outputs, ", "));
}

}  // namespace

std::string literal_text(const Literal& literal, DType dtype) {
  switch (literal.kind) {
    case Literal::Kind::boolean: return literal.integer ? "true" : "false";
    case Literal::Kind::integer:
    case Literal::Kind::large_integer: return decimal_text(literal);
    case Literal::Kind::real: break;
  }
  return real_text(literal.real, dtype);
}

std::string statement_text(const Node& node, const ValueNames& names) {
  const std::string& name = names.of(&node);
  // A number that cannot be written inline is printed as a `full` of rank 0.
  if (node.op == Op::constant)
    return fmt::format("{} = full {{shape = [], value = {}, dtype = {}}}", name,
                       literal_text(node.attributes[0].literal, node.dtype),
                       sinter::name(node.dtype));
  if (node.op == Op::opaque) {
    const Node* const results[] = {&node};
    return opaque_text(results, names);
  }
  return fmt::format("{} = {}{}{}", name, info(node.op).name, operands_text(node, names),
                     braced(attribute_texts(node)));
}

std::string opaque_text(std::span<const Node* const> results, const ValueNames& names) {
  const Node& call = *results[0];
  if (is_library(call.op)) return statement_text(call, names);
  std::vector<std::string> values;
  std::vector<std::string> types;
  for (const ResultType& type : result_types(call)) {
    values.emplace_back("_");
    types.push_back(std::string(name(type.dtype)) + to_string(type.shape));
  }
  for (const Node* result : results)
    if (std::string value = names.of(result); !value.empty())
      values[result_number(*result)] = std::move(value);
  const std::string_view options = attribute(call, "options").text;
  return fmt::format("{} = opaque {}{}{} : {}", fmt::join(values, ", "), function_of(call),
                     operands_text(call, names),
                     options.empty() ? "" : fmt::format(" {{{}}}", options),
                     fmt::join(types, ", "));
}

std::string input_text(const InputInfo& input, const ValueNames& names) {
  const Node& node = *input.node;
  std::vector<std::string> options;
  if (node.op == Op::input && !attribute(node, "strides").extents.empty())
    options.push_back("strides = " + to_string(attribute(node, "strides").extents));
  constexpr double kOpen = std::numeric_limits<double>::infinity();
  if (input.low || input.high)
    options.push_back(
        fmt::format("range = [{}, {}]", input.low.value_or(-kOpen), input.high.value_or(kOpen)));
  return fmt::format("{}: {}{}{}", names.of(&node), name(node.dtype),
                     node.op == Op::input ? to_string(node.shape) : "", braced(options));
}

std::string print(const GraphData& graph) {
  const ValueNames names(graph);
  std::string text = header_text(graph, names);
  for (const Node* node : graph.nodes) {
    if (node->op == Op::input || node->op == Op::scalar || names.of(node).empty()) continue;
    const std::string statement =
        node->op == Op::opaque ? call_text(graph, *node, names) : statement_text(*node, names);
    if (!statement.empty()) text += "  " + statement + "\n";
  }
  for (const UpdateInfo& update : graph.updates)
    text += fmt::format("  update {}, {}\n", names.of(update.parameter), names.of(update.value));
  return text + outputs_text(graph, names) + "}\n";
}

std::string print(const Graph& graph) { return print(graph.data()); }

}  // namespace sinter
