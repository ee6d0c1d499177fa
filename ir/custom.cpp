#include "ir/custom.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "ir/record.h"
#include "sinter/error.h"

namespace sinter {

namespace {

bool is_word_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Calls `visit` with each name or number of `text`, comments and strings left out.
template <class Visit>
void for_each_word(std::string_view text, const Visit& visit) {
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i).starts_with("//")) {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i).starts_with("/*")) {
      const std::size_t end = text.find("*/", i + 2);
      i = end == text.npos ? text.size() : end + 2;
    } else if (is_word_letter(text[i])) {
      std::size_t end = i;
      while (end < text.size() && is_word_letter(text[end])) ++end;
      visit(text.substr(i, end - i));
      i = end;
    } else {
      ++i;
    }
  }
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for_each_word(text, [&](std::string_view word) {
    if (word != "const" && word != "inline" && word != "static") words.push_back(word);
  });
  return words;
}

/// The dtype that values of a C++ type have: of those that something is computed in.
std::optional<DType> dtype_of(std::span<const std::string_view> type) {
  const std::string spelled = fmt::format("{}", fmt::join(type, " "));
  if (spelled == "unsigned int") return u32;
  for (const DTypeInfo& row : kDTypes)
    if (row.compute == row.dtype && row.c_name == spelled) return row.dtype;
  return std::nullopt;
}

[[noreturn]] void no_function(std::string_view what) {
  throw UserError(
      fmt::format("the source must be one function of plain types, such as "
                  "\"float f(float a, int b) {{ … }}\"; {}",
                  what));
}

/// A type and a name behind it.
DType typed_name(std::string_view text, std::string& name) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() < 2 || text.find_first_of("*&[]<>") != text.npos)
    no_function(fmt::format("'{}' is no type and a name", text));
  const std::optional<DType> dtype = dtype_of(std::span(words).first(words.size() - 1));
  if (!dtype) no_function(fmt::format("'{}' is of no plain type", text));
  name = words.back();
  return *dtype;
}

}  // namespace

Signature signature_of(std::string_view source) {
  const std::size_t open = source.find('(');
  const std::size_t close = source.find(')');
  const std::size_t brace = source.find('{');
  if (open == source.npos || close == source.npos || brace == source.npos || open > close ||
      close > brace)
    no_function("it has no parameters in parentheses and no body in braces");
  Signature signature;
  signature.result = typed_name(source.substr(0, open), signature.function);
  std::string_view parameters = source.substr(open + 1, close - open - 1);
  while (!parameters.empty()) {
    const std::size_t comma = std::min(parameters.find(','), parameters.size());
    std::string name;
    signature.parameters.push_back(typed_name(parameters.substr(0, comma), name));
    parameters.remove_prefix(std::min(comma + 1, parameters.size()));
  }
  if (signature.parameters.empty()) no_function("it takes nothing");
  return signature;
}

std::string_view unportable_word(std::string_view source) {
  std::string_view found;
  for_each_word(source, [&](std::string_view word) {
    const bool is_foreign = word.starts_with("__") || word == "asm" || word.starts_with("atomic") ||
                            word == "threadIdx" || word == "blockIdx";
    if (found.empty() && is_foreign) found = word;
  });
  return found;
}

const CustomOptions* custom_options(const GraphData& graph, const Node& node) {
  const auto found = graph.customs.find(attribute(node, "source").text);
  return found == graph.customs.end() ? nullptr : found->second.get();
}

Tensor custom_op(std::string_view name, std::string_view source, std::span<const Operand> operands,
                 CustomOptions options, const char* file, int line) {
  const Location location{file, line};
  const std::string called = fmt::format("custom op {}", name);
  Signature signature;
  try {
    signature = signature_of(source);
  } catch (const UserError& error) {
    fail(called, error.what(), location);
  }
  if (operands.size() != signature.parameters.size())
    fail(called,
         fmt::format("{} takes {} operands, {} are given", signature.function,
                     signature.parameters.size(), operands.size()),
         location);
  GraphData& graph = graph_of(called, refs_to(operands));
  llvm::SmallVector<const Node*, 4> nodes;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const DType wanted = signature.parameters[i];
    if (operands[i].is_literal()) {
      nodes.push_back(constant(graph, called, operands[i].literal, wanted, location));
      continue;
    }
    const Node* node = operands[i].tensor.node();
    if (info(node->dtype).compute != wanted || node->dtype == c64)
      fail(called,
           fmt::format("parameter {} of {} is {}, but operand {} is {}; cast it to {}", i + 1,
                       signature.function, info(wanted).c_name, i + 1, type_text(*node),
                       sinter::name(wanted)),
           location);
    nodes.push_back(node);
  }
  const ShapeVector shape = broadcast_shapes(called, nodes, location);
  check_size(called, shape, location);
  const auto [known, is_new] = graph.customs.try_emplace(std::string(source));
  if (is_new || options.oracle || options.vjp)
    known->second = std::make_shared<const CustomOptions>(std::move(options));
  const Attribute attributes[] = {{.text = name}, {.text = source}, {.dtype = signature.result}};
  return tensor(graph, graph.make({.op = Op::custom,
                                   .dtype = signature.result,
                                   .operands = nodes,
                                   .shape = shape,
                                   .attributes = attributes},
                                  location));
}

Tensor custom_op(std::string_view name, std::string_view source,
                 std::initializer_list<Operand> operands, CustomOptions options, const char* file,
                 int line) {
  return custom_op(name, source, std::span<const Operand>(operands.begin(), operands.size()),
                   std::move(options), file, line);
}

}  // namespace sinter
