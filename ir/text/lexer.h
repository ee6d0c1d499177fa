// The lexer of the text form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sinter {

/// A position in a text. Line and column count from 1; the column is in bytes.
struct TextPosition {
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
  junk,         ///< characters that form no token
  end,          ///< after the last token; further calls return it again
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  TextPosition position;
  bool starts_line = false;  ///< the first token of its line

  bool is(std::string_view spelling) const {
    return text == spelling && (kind == TokenKind::name || kind == TokenKind::punctuation);
  }
};

/// A cursor over a text, which must outlive it. Copies are independent; copy a Lexer to peek.
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

/// True for words that cannot name a value.
bool is_reserved(std::string_view word);
/// The text that a string token denotes.
std::string unquote(std::string_view token);
/// The string token that denotes `text`.
std::string quote(std::string_view text);
/// The name of a token in messages: `'sum'`, `the end of the text`.
std::string describe_token(const Token& token);
/// `text` for a message: at most 40 bytes, with bytes outside printable ASCII as `\x0a`.
std::string printable(std::string_view text);

}  // namespace sinter
