// The lexer of PTX ISA 4.1 to 4.5: blanks, comments, identifiers, directives, numbers, strings.
#include "tests/virtual_gpu/ptx/lexer.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace sinter::virtual_gpu::ptx {
namespace {

enum CharacterClass : std::uint8_t {
  kBlank = 1,
  kStartsWord = 2,     ///< of PTX ISA 4.4: letters, `_`, `$`, `%`
  kContinuesWord = 4,  ///< letters, digits, `_`, `$`
  kDigit = 8,
  kSymbol = 16,
};

constexpr std::array<std::uint8_t, 256> character_classes() {
  std::array<std::uint8_t, 256> result = {};
  for (const char c : std::string_view(" \t\r\n\f\v"))
    result[static_cast<unsigned char>(c)] = kBlank;
  for (int c = 'a'; c <= 'z'; ++c) result[c] = kStartsWord | kContinuesWord;
  for (int c = 'A'; c <= 'Z'; ++c) result[c] = kStartsWord | kContinuesWord;
  for (int c = '0'; c <= '9'; ++c) result[c] = kDigit | kContinuesWord;
  result['_'] = result['$'] = kStartsWord | kContinuesWord;
  result['%'] = kStartsWord;
  for (const char c : std::string_view("{}[]()<>,;:@!|+-*~="))
    result[static_cast<unsigned char>(c)] = kSymbol;
  return result;
}
constexpr std::array<std::uint8_t, 256> kClasses = character_classes();

bool is(char character, CharacterClass wanted) {
  return (kClasses[static_cast<unsigned char>(character)] & wanted) != 0;
}

/// A word as messages show it: printable and of limited length.
std::string printable(std::string_view word) {
  constexpr std::size_t kLongest = 80;
  std::string result;
  for (const char c : word.substr(0, kLongest)) {
    if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      char escape[5];
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(c));
      result += escape;
    }
  }
  return word.size() > kLongest ? result + "..." : result;
}

/// A literal with a prefix (0x, 0f, 0d, 0b) has no exponent: in `0x1e-1` the `-` is an operator.
bool has_prefix(std::string_view number) {
  return number.size() > 1 && number[0] == '0' && is(number[1], kStartsWord) && number[1] != 'e' &&
         number[1] != 'E';
}

}  // namespace

void fail(const Token& token, const std::string& problem) {
  const std::string word =
      token.kind == TokenKind::end ? std::string("end of the text") : printable(token.text);
  throw PtxError(token.line, word + ": " + problem);
}

bool is_identifier(std::string_view word) {
  if (word.empty() || !is(word.front(), kStartsWord)) return false;
  if (word == "%" || word == "$") return false;
  return std::all_of(word.begin() + 1, word.end(), [](char c) { return is(c, kContinuesWord); });
}

Lexer::Lexer(std::string_view text) : text_(text) { read(); }

Token Lexer::take() {
  const Token result = next_;
  read();
  return result;
}

bool Lexer::accept(char symbol) {
  if (!next_.is(symbol)) return false;
  read();
  return true;
}

bool Lexer::accept(std::string_view directive) {
  if (next_.kind != TokenKind::directive || next_.text != directive) return false;
  read();
  return true;
}

void Lexer::expect(char symbol) {
  if (!next_.is(symbol)) fail(next_, std::string("expected `") + symbol + "`");
  read();
}

Token Lexer::expect(TokenKind kind, std::string_view meaning) {
  if (next_.kind != kind) fail(next_, "expected " + std::string(meaning));
  return take();
}

void Lexer::read() {
  skip_blanks();
  const std::size_t begin = position_;
  next_ = Token{.kind = TokenKind::end, .text = {}, .line = line_};
  if (begin == text_.size()) return;
  const char first = text_[begin];
  if (is(first, kStartsWord)) return read_word(TokenKind::word, begin);
  if (is(first, kDigit)) return read_number(begin);
  if (first == '.' && is(at(begin + 1), kStartsWord)) return read_word(TokenKind::directive, begin);
  if (first == '"') return read_string(begin);
  next_ = Token{.kind = TokenKind::symbol, .text = text_.substr(begin, 1), .line = line_};
  if (!is(first, kSymbol)) fail(next_, "PTX does not allow this character here");
  ++position_;
}

void Lexer::skip_blanks() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (is(c, kBlank)) {
      if (c == '\n') ++line_;
      ++position_;
    } else if (c == '/' && (at(position_ + 1) == '/' || at(position_ + 1) == '*')) {
      skip_comment();
    } else {
      return;
    }
  }
}

void Lexer::skip_comment() {
  if (text_[position_ + 1] == '/') {
    position_ = std::min(text_.find('\n', position_), text_.size());
    return;
  }
  const std::size_t end = text_.find("*/", position_ + 2);
  const std::string_view comment = text_.substr(position_, end - position_);
  if (end == std::string_view::npos) throw PtxError(line_, "/*: the comment has no end");
  line_ += static_cast<int>(std::count(comment.begin(), comment.end(), '\n'));
  position_ = end + 2;
}

void Lexer::read_word(TokenKind kind, std::size_t begin) {
  const bool takes_dots = kind == TokenKind::word;
  std::size_t end = begin + 1;
  for (;;) {
    if (is(at(end), kContinuesWord)) {
      ++end;
    } else if (at(end) == ':' && at(end + 1) == ':' && is(at(end + 2), kContinuesWord)) {
      end += 3;
    } else if (takes_dots && at(end) == '.' && is(at(end + 1), kContinuesWord)) {
      end += 2;
    } else {
      break;
    }
  }
  next_ = Token{.kind = kind, .text = text_.substr(begin, end - begin), .line = line_};
  if (next_.text == "%" || next_.text == "$")
    fail(next_, "an identifier needs a further character");
  position_ = end;
}

void Lexer::read_number(std::size_t begin) {
  const bool has_exponent = !has_prefix(text_.substr(begin, 2));
  std::size_t end = begin + 1;
  for (;; ++end) {
    const char c = at(end);
    const bool is_sign =
        has_exponent && (c == '+' || c == '-') && (text_[end - 1] == 'e' || text_[end - 1] == 'E');
    if (!is(c, kContinuesWord) && c != '.' && !is_sign) break;
  }
  next_ = Token{.kind = TokenKind::number, .text = text_.substr(begin, end - begin), .line = line_};
  position_ = end;
}

void Lexer::read_string(std::size_t begin) {
  const std::size_t end = text_.find_first_of("\"\n", begin + 1);
  if (end == std::string_view::npos || text_[end] == '\n')
    throw PtxError(line_, "\": the string has no end in its line");
  next_ = Token{
      .kind = TokenKind::string, .text = text_.substr(begin + 1, end - begin - 1), .line = line_};
  position_ = end + 1;
}

}  // namespace sinter::virtual_gpu::ptx
