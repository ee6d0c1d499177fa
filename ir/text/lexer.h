// Cuts the text form into tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sinter {

/// A place in a text; line and column count from 1, the column in bytes.
struct TextPlace {
  std::size_t offset = 0;
  int line = 1;
  int column = 1;
};

enum class TokenKind : std::uint8_t {
  name,         ///< letters, digits and _
  integer,      ///< digits
  real,         ///< digits with a point or an exponent
  string,       ///< "…" with \\ before quotes, backslashes and n, on one line
  punctuation,  ///< one of ( ) [ ] { } , : = + - *
  junk,         ///< what begins no token
  end,          ///< after the last one, as often as it is asked for
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  TextPlace place;
  bool starts_line = false;  ///< the first token of its line

  bool is(std::string_view spelling) const {
    return text == spelling && (kind == TokenKind::name || kind == TokenKind::punctuation);
  }
};

/// A cursor over a text, which must outlive it. Copies are independent, which is how one peeks.
class Lexer {
 public:
  explicit Lexer(std::string_view text);
  /// The next token; comments and white space are skipped.
  Token next();

 private:
  void skip_blanks();
  std::size_t token_length(TokenKind& kind) const;

  std::string_view text_;
  std::size_t offset_ = 0;
  std::size_t line_begin_ = 0;
  int line_ = 1;
  bool starts_line_ = true;
};

/// True for the words that no value may be called.
bool is_reserved(std::string_view word);
/// The text that a string token stands for, and the token that stands for a text.
std::string unquoted(std::string_view token);
std::string quoted_text(std::string_view text);
/// How a message names a token: `'sum'`, `the end of the text`.
std::string quoted(const Token& token);
/// `text` for a message: shortened, without control characters.
std::string printable(std::string_view text, std::size_t most = 40);

}  // namespace sinter
