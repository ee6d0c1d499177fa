// The lexer of the text form, and quoting of strings.
#include "ir/text/lexer.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/support/name_characters.h"

namespace sinter {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_punctuation(char c) {
  return std::string_view("()[]{},:=+-*").find(c) != std::string_view::npos;
}

std::size_t digits(std::string_view text, std::size_t from) {
  while (from < text.size() && is_digit(text[from])) ++from;
  return from;
}

/// The length of the number that `text` begins with: 12, 1.5, 2., 1e-6.
std::size_t number_length(std::string_view text, TokenKind& kind) {
  std::size_t end = digits(text, 0);
  kind = TokenKind::integer;
  if (end < text.size() && text[end] == '.') {
    end = digits(text, end + 1);
    kind = TokenKind::real;
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    const std::size_t sign =
        end + 1 < text.size() && (text[end + 1] == '+' || text[end + 1] == '-');
    const std::size_t exponent = digits(text, end + 1 + sign);
    if (exponent > end + 1 + sign) {
      end = exponent;
      kind = TokenKind::real;
    }
  }
  // Letters directly after a number, as in 12abc, make one junk token instead of two tokens.
  const std::size_t number = end;
  while (end < text.size() && (is_name_character(text[end]) || text[end] == '.')) ++end;
  if (end != number) kind = TokenKind::junk;
  return end;
}

}  // namespace

Lexer::Lexer(std::string_view text) : text_(text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) offset_ = line_begin_ = kByteOrderMark.size();
}

void Lexer::skip_blanks() {
  while (offset_ < text_.size()) {
    const char c = text_[offset_];
    if (c == '/' && text_.substr(offset_).starts_with("//")) {
      offset_ = std::min(text_.find('\n', offset_), text_.size());
      continue;
    }
    if (!is_blank(c)) return;
    ++offset_;
    if (c == '\n') {
      ++line_;
      line_begin_ = offset_;
      starts_line_ = true;
    }
  }
}

std::size_t Lexer::token_length(TokenKind& kind) const {
  const std::string_view rest = text_.substr(offset_);
  if (is_digit(rest[0])) return number_length(rest, kind);
  std::size_t end = 1;
  if (is_name_character(rest[0])) {
    kind = TokenKind::name;
    while (end < rest.size() && is_name_character(rest[end])) ++end;
    return end;
  }
  if (is_punctuation(rest[0])) {
    kind = TokenKind::punctuation;
    return end;
  }
  if (rest[0] == '"') {
    while (end < rest.size() && rest[end] != '"' && rest[end] != '\n')
      end += rest[end] == '\\' ? 2 : 1;
    const bool is_closed = end < rest.size() && rest[end] == '"';
    kind = is_closed ? TokenKind::string : TokenKind::junk;
    return is_closed ? end + 1 : std::min(end, rest.size());
  }
  kind = TokenKind::junk;
  while (end < rest.size() && !is_blank(rest[end]) && !is_name_character(rest[end]) &&
         !is_punctuation(rest[end]))
    ++end;
  return end;
}

Token Lexer::next() {
  skip_blanks();
  Token token{.kind = TokenKind::end,
              .text = {},
              .position = {.offset = offset_,
                           .line = line_,
                           .column = static_cast<int>(offset_ - line_begin_) + 1},
              .starts_line = starts_line_};
  if (offset_ == text_.size()) return token;
  token.text = text_.substr(offset_, token_length(token.kind));
  offset_ += token.text.size();
  starts_line_ = false;
  return token;
}

bool is_reserved(std::string_view word) {
  return word == "return" || word == "update" || word == "inf" || word == "nan" || word == "true" ||
         word == "false";
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMaxBytes = 40;
  std::string result;
  for (const char c : text.substr(0, kMaxBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += c;
  }
  return text.size() > kMaxBytes ? result + "…" : result;
}

std::string unquote(std::string_view token) {
  std::string text;
  token = token.substr(1, token.size() - 2);
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool is_escaped = token[i] == '\\' && i + 1 < token.size();
    if (is_escaped) ++i;
    text += is_escaped && token[i] == 'n' ? '\n' : token[i];
  }
  return text;
}

std::string quote(std::string_view text) {
  std::string token = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') token += '\\';
    token += c == '\n' ? "\\n" : std::string(1, c);
  }
  return token + "\"";
}

std::string describe_token(const Token& token) {
  if (token.kind == TokenKind::end) return "the end of the text";
  return fmt::format("'{}'", printable(token.text));
}

}  // namespace sinter
