// Debug lines, pragmas and performance directives (PTX ISA 11.4, 11.5, 11.7).
#include "tests/virtual_gpu/ptx/directive.h"

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "tests/virtual_gpu/ptx/constant.h"

namespace sinter::virtual_gpu::ptx {
namespace {

constexpr std::int64_t kLargestInt = std::numeric_limits<int>::max();

void skip_position(Lexer& lexer) {
  for (int i = 0; i < 3; ++i) take_integer(lexer, 0, kLargestInt);
}

bool accept_word(Lexer& lexer, std::string_view word) {
  if (lexer.peek().kind != TokenKind::word || lexer.peek().text != word) return false;
  lexer.take();
  return true;
}

/// `.loc file line column [, function_name label [+ offset], inlined_at file line column]`.
void skip_loc(Lexer& lexer) {
  skip_position(lexer);
  if (!lexer.accept(',')) return;
  if (!accept_word(lexer, "function_name")) fail(lexer.peek(), "expected `function_name`");
  lexer.expect(TokenKind::word, "a label");
  if (lexer.accept('+')) take_integer(lexer, 0, kLargestInt);
  lexer.expect(',');
  if (!accept_word(lexer, "inlined_at")) fail(lexer.peek(), "expected `inlined_at`");
  skip_position(lexer);
}

/// `.file index "name" [, timestamp, size]`.
void skip_file(Lexer& lexer) {
  take_integer(lexer, 0, kLargestInt);
  lexer.expect(TokenKind::string, "a file name");
  for (int i = 0; i < 2 && lexer.accept(','); ++i)
    take_integer(lexer, 0, std::numeric_limits<std::int64_t>::max());
}

/// `.section .name { DWARF data }`. The data have no nested braces.
void skip_section(Lexer& lexer) {
  lexer.expect(TokenKind::directive, "the name of a section");
  lexer.expect('{');
  while (!lexer.peek().is('}')) {
    const Token token = lexer.take();
    if (token.kind == TokenKind::end) fail(token, "the section has no end");
    if (token.is('{')) fail(token, "a section has no nested block");
  }
  lexer.take();
}

void skip_pragma(Lexer& lexer) {
  do {
    lexer.expect(TokenKind::string, "a string");
  } while (lexer.accept(','));
  lexer.expect(';');
}

struct PerformanceDirective {
  std::string_view name;  ///< with the dot
  int fewest_values;
  int most_values;
};
constexpr std::array kPerformanceDirectives = {
    PerformanceDirective{".maxntid", 1, 3},
    PerformanceDirective{".reqntid", 1, 3},
    PerformanceDirective{".minnctapersm", 1, 1},
    PerformanceDirective{".maxnctapersm", 1, 1},
    PerformanceDirective{".maxnreg", 1, 1},
    PerformanceDirective{".noreturn", 0, 0},
    PerformanceDirective{".reqnctapercluster", 1, 3},
    PerformanceDirective{".explicitcluster", 0, 0},
    PerformanceDirective{".maxclusterrank", 1, 1},
};

}  // namespace

bool skip_annotation(Lexer& lexer) {
  if (lexer.peek().kind != TokenKind::directive) return false;
  if (lexer.accept(".loc")) {
    skip_loc(lexer);
  } else if (lexer.accept(".file")) {
    skip_file(lexer);
  } else if (lexer.accept(".section")) {
    skip_section(lexer);
  } else if (lexer.accept(".pragma")) {
    skip_pragma(lexer);
  } else {
    return false;
  }
  return true;
}

bool take_performance_directive(Lexer& lexer, Function& function) {
  const Token token = lexer.peek();
  for (const PerformanceDirective& row : kPerformanceDirectives) {
    if (!lexer.accept(row.name)) continue;
    std::vector<int> values;
    const auto most = static_cast<std::size_t>(row.most_values);
    while (values.size() < most && (values.empty() || lexer.accept(',')))
      values.push_back(static_cast<int>(take_integer(lexer, 1, kLargestInt)));
    // PTX ISA 11.4: a dimension that the directive leaves out is 1.
    if (most == 3) values.resize(3, 1);
    if (!function.directives.try_emplace(token.text.substr(1), values).second)
      fail(token, "the function has this directive twice");
    return true;
  }
  return false;
}

void fail_directive(const Token& token, std::string_view place) {
  fail(token, "the interpreter does not know this directive " + std::string(place));
}

}  // namespace sinter::virtual_gpu::ptx
