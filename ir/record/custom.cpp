#include "ir/record/custom.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "ir/record/record.h"
#include "sinter/error.h"

namespace sinter {

namespace {

bool is_word_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The end of the comment or literal that begins at `i` of `text`; `i` where none does.
std::size_t end_of_unread(std::string_view text, std::size_t i) {
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

/// The end of the name or number that begins at `i`; numbers may have ' between their digits.
std::size_t end_of_word(std::string_view text, std::size_t i) {
  const bool is_number = std::isdigit(static_cast<unsigned char>(text[i]));
  const auto goes_on = [&](std::size_t k) { return k < text.size() && is_word_letter(text[k]); };
  while (goes_on(i) || (is_number && i < text.size() && text[i] == '\'' && goes_on(i + 1))) ++i;
  return i;
}

/// `source` with spaces for comments and literals: every other character keeps its place.
std::string without_unread(std::string_view source) {
  std::string result(source);
  for (std::size_t i = 0; i < source.size();) {
    const std::size_t end = end_of_unread(source, i);
    std::fill(result.begin() + static_cast<std::ptrdiff_t>(i),
              result.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    i = end != i ? end : is_word_letter(source[i]) ? end_of_word(source, i) : i + 1;
  }
  return result;
}

/// Calls `visit` with each name or number of `text`, which has no comments and literals.
template <class Visit>
void for_each_word(std::string_view text, const Visit& visit) {
  for (std::size_t i = 0; i < text.size();) {
    if (!is_word_letter(text[i])) {
      ++i;
      continue;
    }
    const std::size_t end = end_of_word(text, i);
    visit(text.substr(i, end - i));
    i = end;
  }
}

/// Words in front of a function that say nothing of its type, and that codegen has its own for.
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

/// The dtype that values of a C++ type have: of those that something is computed in.
std::optional<DType> dtype_from_words(std::span<const std::string_view> type) {
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
  const std::optional<DType> dtype = dtype_from_words(std::span(words).first(words.size() - 1));
  if (!dtype) no_function(fmt::format("'{}' is of no plain type", text));
  name = words.back();
  return *dtype;
}

}  // namespace

Signature signature_of(std::string_view text) {
  const std::string readable = without_unread(text);
  const std::string_view source = readable;
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

std::string plain_function(std::string_view source) {
  const std::string readable = without_unread(source);
  const std::string_view head = std::string_view(readable).substr(0, readable.find('('));
  std::string result(source);
  for_each_word(head, [&](std::string_view word) {
    if (is_specifier(word))
      std::fill_n(result.begin() + (word.data() - head.data()), word.size(), ' ');
  });
  return result;
}

std::string_view unportable_word(std::string_view source) {
  constexpr std::string_view kForeign[] = {"asm",      "threadIdx", "blockIdx",
                                           "blockDim", "gridDim",   "warpSize"};
  const std::string readable = without_unread(source);
  std::string_view found;
  for_each_word(readable, [&](std::string_view word) {
    const bool is_foreign = word.starts_with("__") || word.starts_with("atomic") ||
                            std::ranges::find(kForeign, word) != std::end(kForeign);
    if (found.empty() && is_foreign)
      found = source.substr(static_cast<std::size_t>(word.data() - readable.data()), word.size());
  });
  return found;
}

const CustomOptions* custom_options(const GraphData& graph, const Node& node) {
  const auto found = graph.customs.find(attribute(node, "source").text);
  return found == graph.customs.end() ? nullptr : &found->second->options;
}

namespace {

/// Functions cannot be compared: those of one type come from one lambda or are pointers.
template <class Result, class... Arguments>
bool is_same(const std::function<Result(Arguments...)>& first,
             const std::function<Result(Arguments...)>& second) {
  if (first.target_type() != second.target_type()) return false;
  const auto* const pointer = first.template target<Result (*)(Arguments...)>();
  return !pointer || *pointer == *second.template target<Result (*)(Arguments...)>();
}

/// True if `later`, of a call with the same source, says nothing that `first` does not.
bool agrees(const CustomOptions& first, const CustomOptions& later) {
  const bool gives_none = later.ulp == 0 && !later.oracle && !later.vjp;
  return gives_none ||
         (later.ulp == first.ulp && (!later.oracle || is_same(first.oracle, later.oracle)) &&
          (!later.vjp || is_same(first.vjp, later.vjp)));
}

std::string described(const CustomOptions& options) {
  return fmt::format("ulp {}, {} oracle, {} vjp", options.ulp, options.oracle ? "an" : "no",
                     options.vjp ? "a" : "no");
}

/// Keeps `options` for `source`, or checks that they are those which are kept already.
void keep_options(GraphData& graph, std::string_view called, std::string_view source,
                  CustomOptions options, Location location) {
  if (options.ulp == 0 && !options.oracle && !options.vjp) return;
  const auto known = graph.customs.find(source);
  if (known == graph.customs.end()) {
    graph.customs.emplace(
        source, std::make_shared<const KnownCustom>(KnownCustom{.options = std::move(options),
                                                                .called = std::string(called),
                                                                .place = to_string(location)}));
    return;
  }
  const KnownCustom& first = *known->second;
  if (!agrees(first.options, options))
    fail(called,
         fmt::format("the options ({}) are not those ({}) that {} at {} gave for the same source; "
                     "give the same functions and ulp every time, or leave them out here",
                     described(options), described(first.options), first.called, first.place),
         location);
}

}  // namespace

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
  keep_options(graph, called, source, std::move(options), location);
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
