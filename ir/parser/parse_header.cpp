// Parses the header: graph name(input: dtype[extents] {strides = […], range = [low, high]}, …) {
#include "ir/parser/parse.h"

#include <cmath>

#include <fmt/format.h>

namespace sinter {

void Parser::header() {
  try {
    expect("graph", "before the name of the graph");
    const Token name = expect_name("the name of the graph");
    data().name = std::string(name.text);
    expect("(", "before the inputs");
    inputs();
    expect(")", "or ',' after an input");
    expect("{", "before the statements");
  } catch (TextError& error) {
    errors_.add(std::move(error));
    header_is_broken_ = true;
    if (!looks_like_statement()) skip_statement();
  }
}

void Parser::inputs() {
  if (at(")")) return;
  bool goes_on = true;
  while (goes_on && !errors_.is_full()) {
    const Token first = token_;
    bool was_skipped = false;
    try {
      depth_ = 0;
      input();
    } catch (TextError& error) {
      errors_.add(std::move(error));
      if (first.kind == TokenKind::name)
        values_.try_emplace(first.text, Value{.tensor = {}, .line = first.position.line});
      else
        header_is_broken_ = true;
      skip_input();
      was_skipped = true;
    }
    const bool has_moved = token_.position.offset != first.position.offset;
    goes_on = accept(",") || (was_skipped && has_moved && begins_input());
  }
}

bool Parser::begins_input() const {
  Lexer ahead = lexer_;
  return token_.starts_line && token_.kind == TokenKind::name && ahead.next().is(":");
}

/// Skips an input with a mistake: to ',' or ')', or to a line that begins an input or a statement.
void Parser::skip_input() {
  for (bool is_first = true; token_.kind != TokenKind::end; is_first = false) {
    if (depth_ <= 0 && (at(",") || at(")"))) return;
    if (!is_first && begins_input()) return;
    if (token_.starts_line && looks_like_statement()) return;
    advance();
  }
}

void Parser::input() {
  const Token name = expect_name("the name of an input");
  expect(":", "and a dtype after the name of an input");
  const DType type = dtype();
  const bool is_scalar = !at("[");
  const std::vector<Extent> shape = is_scalar ? std::vector<Extent>() : extents("an extent");
  std::vector<Extent> strides;
  InputOptions options;
  if (accept("{")) {
    do input_option(is_scalar, strides, options);
    while (accept(","));
    expect("}", "or ',' after an option of an input");
  }
  options.strides = strides;
  if (values_.contains(name.text)) return define(name, {});
  Tensor tensor;
  call_at(name, [&] {
    const int line = name.position.line;
    tensor = is_scalar ? graph_.scalar(name.text, type, file_, line)
                       : graph_.input(name.text, type, shape, options, file_, line);
    data().inputs.back().low = options.low;
    data().inputs.back().high = options.high;
  });
  define(name, tensor);
}

void Parser::input_option(bool is_scalar, std::vector<Extent>& strides, InputOptions& options) {
  const Token name = token_;
  if (!at("strides") && !at("range"))
    fail_expected("'strides' or 'range', the options of an input");
  if (is_scalar && at("strides"))
    fail_at(name, "a scalar has no strides; write [] after the dtype for an array of rank 0");
  advance();
  expect("=", "after an option's name");
  if (name.is("range")) return range_option(options);
  strides = extents("a stride");
}

void Parser::range_option(InputOptions& options) {
  const Token begin = token_;
  expect("[", "before the range");
  const double low = as_real(literal("a number"));
  expect(",", "between the ends of the range");
  const double high = as_real(literal("a number"));
  expect("]", "after the range");
  if (!(low <= high)) fail_at(begin, fmt::format("the range [{}, {}] is empty", low, high));
  // An infinite end means that the range is unbounded there.
  if (std::isfinite(low)) options.low = low;
  if (std::isfinite(high)) options.high = high;
}

}  // namespace sinter
