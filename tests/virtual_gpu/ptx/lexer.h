// Lexer: the words of a PTX text, one at a time, with their lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu::ptx {

enum class TokenKind : std::uint8_t {
  end,   ///< behind the last character of the text
  word,  ///< an identifier or opcode with its dots: `%tid.x`, `ld.global.u32`, `$L__BB0_1`, `_`
  directive,  ///< `.reg`; `.reg.b32` are two tokens
  number,     ///< an integer or float; constant.h gives its value
  string,     ///< the characters between quotes
  symbol,     ///< one character, such as `{`
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text = {};  ///< of a directive: with the dot
  int line = 0;

  bool is(char symbol) const { return kind == TokenKind::symbol && text.front() == symbol; }
};

/// Throws PtxError with the line and the word of the token, in front of the problem.
[[noreturn]] void fail(const Token& token, const std::string& problem);

/// The lexer of a text, which must outlive its tokens. It throws PtxError on characters and
/// comments that PTX ISA 4.1 to 4.5 does not allow; the caller sees the error one token early.
class Lexer {
 public:
  explicit Lexer(std::string_view text);

  /// The next token, which stays the next one.
  const Token& peek() const { return next_; }
  Token take();
  /// Takes the next token if it is the symbol, or the directive with the given name.
  bool accept(char symbol);
  bool accept(std::string_view directive);
  /// Takes the next token, which must be the symbol: otherwise throws PtxError.
  void expect(char symbol);
  /// Takes the next token, which must be of the kind; `meaning` completes the message
  /// `expected MEANING`.
  Token expect(TokenKind kind, std::string_view meaning);

 private:
  void read();
  void skip_blanks();
  void skip_comment();
  void read_word(TokenKind kind, std::size_t begin);
  void read_number(std::size_t begin);
  void read_string(std::size_t begin);
  char at(std::size_t position) const { return position < text_.size() ? text_[position] : '\0'; }

  std::string_view text_;
  std::size_t position_ = 0;
  int line_ = 1;
  Token next_;
};

/// True if the word is an identifier of PTX ISA 4.4: without dots, and not a lone `%` or `$`.
bool is_identifier(std::string_view word);

}  // namespace sinter::virtual_gpu::ptx
