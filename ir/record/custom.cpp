// Custom ops: parsing of their signature, their options, and recording.
#include "ir/record/custom.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "ir/record/record.h"
#include "ir/support/name_characters.h"
#include "sinter/error.h"

namespace sinter {

namespace {

/// The end of the comment or literal that begins at `i` of `text`; `i` if none begins there.
std::size_t end_of_comment_or_literal(std::string_view text, std::size_t i) {
  const std::string_view rest = text.substr(i);
  if (rest.starts_with("//")) return std::min(text.find('\n', i), text.size());
  if (rest.starts_with("/*")) {
    const std::size_t end = text.find("*/", i + 2);
    return end == text.npos ? text.size() : end + 2;
  }
  if (!rest.starts_with('"') && !rest.starts_with('\'')) return i;
  std::size_t end = i + 1;
  while (end < text.size() && text[end] != text[i]) end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

/// The end of the name or number that begins at `i`. Numbers may have ' between digits.
std::size_t end_of_word(std::string_view text, std::size_t i) {
  const bool is_number = is_digit(text[i]);
  const auto is_word_at = [&](std::size_t k) {
    return k < text.size() && is_name_character(text[k]);
  };
  while (is_word_at(i) || (is_number && i < text.size() && text[i] == '\'' && is_word_at(i + 1)))
    ++i;
  return i;
}

/// `source` with comments and literals replaced by spaces. All other characters keep their offsets.
std::string blank_comments_and_literals(std::string_view source) {
  std::string result(source);
  for (std::size_t i = 0; i < source.size();) {
    const std::size_t end = end_of_comment_or_literal(source, i);
    std::fill(result.begin() + static_cast<std::ptrdiff_t>(i),
              result.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    i = end != i ? end : is_name_character(source[i]) ? end_of_word(source, i) : i + 1;
  }
  return result;
}

/// Calls `visit` with each name or number of `text`, which must not contain comments or literals.
template <class Visit>
void for_each_word(std::string_view text, const Visit& visit) {
  for (std::size_t i = 0; i < text.size();) {
    if (!is_name_character(text[i])) {
      ++i;
      continue;
    }
    const std::size_t end = end_of_word(text, i);
    visit(text.substr(i, end - i));
    i = end;
  }
}

/// True for words before a function that are not part of its type. Codegen adds its own specifiers.
bool is_specifier(std::string_view word) {
  return word == "inline" || word == "static" || word == "constexpr";
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for_each_word(text, [&](std::string_view word) {
    if (word != "const" && !is_specifier(word)) words.push_back(word);
  });
  return words;
}

/// The dtype of a C++ type. Only compute dtypes have one.
std::optional<DType> dtype_from_words(std::span<const std::string_view> type) {
  const std::string c_name = fmt::format("{}", fmt::join(type, " "));
  if (c_name == "unsigned int") return u32;
  for (const DTypeInfo& row : kDTypes)
    if (row.compute == row.dtype && row.c_name == c_name) return row.dtype;
  return std::nullopt;
}

[[noreturn]] void fail_signature(std::string_view what) {
  throw UserError(
      fmt::format("the source must be one function of plain types, such as "
                  "\"float f(float a, int b) {{ … }}\"; {}",
                  what));
}

/// Parses a type and the name after it. Returns the type, and sets `name`.
DType parse_declaration(std::string_view text, std::string& name) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.size() < 2 || text.find_first_of("*&[]<>") != text.npos)
    fail_signature(fmt::format("'{}' is not a type and a name", text));
  const std::optional<DType> dtype = dtype_from_words(std::span(words).first(words.size() - 1));
  if (!dtype) fail_signature(fmt::format("'{}' does not have a plain type", text));
  name = words.back();
  return *dtype;
}

}  // namespace

Signature parse_signature(std::string_view text) {
  const std::string blanked = blank_comments_and_literals(text);
  const std::string_view source = blanked;
  const std::size_t open = source.find('(');
  const std::size_t close = source.find(')');
  const std::size_t brace = source.find('{');
  if (open == source.npos || close == source.npos || brace == source.npos || open > close ||
      close > brace)
    fail_signature("it has no parameters in parentheses and no body in braces");
  Signature signature;
  signature.result = parse_declaration(source.substr(0, open), signature.function);
  std::string_view parameters = source.substr(open + 1, close - open - 1);
  while (!parameters.empty()) {
    const std::size_t comma = std::min(parameters.find(','), parameters.size());
    std::string name;
    signature.parameters.push_back(parse_declaration(parameters.substr(0, comma), name));
    parameters.remove_prefix(std::min(comma + 1, parameters.size()));
  }
  if (signature.parameters.empty()) fail_signature("it has no parameters");
  return signature;
}

std::string strip_specifiers(std::string_view source) {
  const std::string blanked = blank_comments_and_literals(source);
  const std::string_view head = std::string_view(blanked).substr(0, blanked.find('('));
  std::string result(source);
  for_each_word(head, [&](std::string_view word) {
    if (is_specifier(word))
      std::fill_n(result.begin() + (word.data() - head.data()), word.size(), ' ');
  });
  return result;
}

std::string_view find_unportable_word(std::string_view source) {
  constexpr std::string_view kUnportable[] = {"asm",      "threadIdx", "blockIdx",
                                              "blockDim", "gridDim",   "warpSize"};
  const std::string blanked = blank_comments_and_literals(source);
  std::string_view found;
  for_each_word(blanked, [&](std::string_view word) {
    const bool is_unportable = word.starts_with("__") || word.starts_with("atomic") ||
                               std::ranges::find(kUnportable, word) != std::end(kUnportable);
    if (found.empty() && is_unportable)
      found = source.substr(static_cast<std::size_t>(word.data() - blanked.data()), word.size());
  });
  return found;
}

const CustomOptions* custom_options(const GraphData& graph, const Node& node) {
  const auto found = graph.custom_ops.find(attribute(node, "source").text);
  return found == graph.custom_ops.end() ? nullptr : &found->second->options;
}

namespace {

/// True if both functions have one type, and are equal if they are function pointers. Functions of
/// one lambda type count as equal, because their captures cannot be compared.
template <class Result, class... Arguments>
bool is_same(const std::function<Result(Arguments...)>& first,
             const std::function<Result(Arguments...)>& second) {
  if (first.target_type() != second.target_type()) return false;
  const auto* const pointer = first.template target<Result (*)(Arguments...)>();
  return !pointer || *pointer == *second.template target<Result (*)(Arguments...)>();
}

/// True if `later`, the options of a call with the same source, adds nothing to `first`.
bool agrees(const CustomOptions& first, const CustomOptions& later) {
  return later.ulp == first.ulp && (!later.oracle || is_same(first.oracle, later.oracle)) &&
         (!later.vjp || is_same(first.vjp, later.vjp));
}

std::string options_summary(const CustomOptions& options) {
  return fmt::format("ulp {}, {} oracle, {} vjp", options.ulp, options.oracle ? "an" : "no",
                     options.vjp ? "a" : "no");
}

/// Stores `options` for `source`, or checks that they agree with the stored options.
void store_options(GraphData& graph, std::string_view op_name, std::string_view source,
                   CustomOptions options, Location location) {
  if (options.ulp == 0 && !options.oracle && !options.vjp) return;
  const auto known = graph.custom_ops.find(source);
  if (known == graph.custom_ops.end()) {
    graph.custom_ops.emplace(source, std::make_shared<const CustomOpEntry>(
                                         CustomOpEntry{.options = std::move(options),
                                                       .op_name = std::string(op_name),
                                                       .location = to_string(location)}));
    return;
  }
  const CustomOpEntry& first = *known->second;
  if (!agrees(first.options, options))
    fail(op_name,
         fmt::format(
             "the options ({}) differ from those ({}) that {} at {} gave for the same source; "
             "give the same functions and ulp every time, or omit them here",
             options_summary(options), options_summary(first.options), first.op_name,
             first.location),
         location);
}

}  // namespace

Tensor custom_op(std::string_view name, std::string_view source, std::span<const Operand> operands,
                 CustomOptions options, const char* file, int line) {
  const Location location{file, line};
  const std::string op_name = fmt::format("custom op {}", name);
  Signature signature;
  try {
    signature = parse_signature(source);
  } catch (const UserError& error) {
    fail(op_name, error.what(), location);
  }
  if (operands.size() != signature.parameters.size())
    fail(op_name,
         fmt::format("{} takes {} operands, {} are given", signature.function,
                     signature.parameters.size(), operands.size()),
         location);
  GraphData& graph = graph_of(op_name, refs_to(operands));
  llvm::SmallVector<const Node*, 4> nodes;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const DType wanted = signature.parameters[i];
    if (operands[i].is_literal()) {
      nodes.push_back(constant(graph, op_name, operands[i].literal, wanted, location));
      continue;
    }
    const Node* node = operands[i].tensor.node();
    if (info(node->dtype).compute != wanted || node->dtype == c64)
      fail(op_name,
           fmt::format("parameter {} of {} is {}, but operand {} is {}; cast it to {}", i + 1,
                       signature.function, info(wanted).c_name, i + 1, type_text(*node),
                       sinter::name(wanted)),
           location);
    nodes.push_back(node);
  }
  const ShapeVector shape = broadcast_shapes(op_name, nodes, location);
  check_size(op_name, shape, location);
  store_options(graph, op_name, source, std::move(options), location);
  const Attribute attributes[] = {{.text = name}, {.text = source}, {.dtype = signature.result}};
  return record_node(graph, Op::custom, signature.result, nodes, shape, attributes, location);
}

Tensor custom_op(std::string_view name, std::string_view source,
                 std::initializer_list<Operand> operands, CustomOptions options, const char* file,
                 int line) {
  return custom_op(name, source, std::span<const Operand>(operands.begin(), operands.size()),
                   std::move(options), file, line);
}

}  // namespace sinter
