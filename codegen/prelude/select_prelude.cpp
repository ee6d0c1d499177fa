#include "codegen/prelude/select_prelude.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "ir/support/name_characters.h"

namespace sinter {

namespace {

/// Splits C++ text into words, numbers and single characters. Skips comments and literals.
class PreludeLexer {
 public:
  explicit PreludeLexer(std::string_view text) : text_(text) {}

  /// Empty at the end of the text.
  std::string_view next() {
    while (at_ < text_.size()) {
      const std::size_t begin = at_;
      const char c = text_[at_++];
      if (c == '/' && text_.substr(at_).starts_with('/')) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '/' && text_.substr(at_).starts_with('*')) {
        const std::size_t end = text_.find("*/", at_ + 1);
        at_ = end == text_.npos ? text_.size() : end + 2;
      } else if (c == '"' || c == '\'') {
        skip_literal(c);
      } else if (is_name_character(c)) {
        while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
        return text_.substr(begin, at_ - begin);
      } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
        return text_.substr(begin, 1);
      }
    }
    return {};
  }
  std::size_t at() const { return at_; }
  /// The rest of the line, including lines that a trailing backslash continues.
  std::string_view rest_of_line() {
    const std::size_t begin = at_;
    do at_ = std::min(text_.find('\n', at_ + 1), text_.size());
    while (at_ < text_.size() && text_[at_ - 1] == '\\');
    return text_.substr(begin, at_ - begin);
  }

 private:
  void skip_literal(char quote) {
    while (at_ < text_.size() && text_[at_] != quote) at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, text_.size());
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool is_name(std::string_view word) {
  return !word.empty() && is_name_character(word[0]) && !is_digit(word[0]);
}

/// True for words that precede parentheses without being declared by them.
bool takes_parentheses(std::string_view word) {
  return word == "alignas" || word == "sizeof" || word == "__attribute__";
}

/// Splits a prelude after each declaration. Finds the declared names: a macro after `#define`, a
/// function before `(`, a type after `struct` or `union`, a value or an alias before `=`.
class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text), lexer_(text) {}

  std::vector<PreludePart> split() {
    bool is_type = false;
    std::string_view before;
    for (std::string_view word = next(); !word.empty(); before = word, word = next()) {
      if (word == "#") {
        take_directive();
      } else if (word == "template") {
        next();
        skip_past(">", "<");  // default arguments contain `=` but declare nothing
      } else if (word == "struct" || word == "union") {
        is_type = true;
        declare_type();
      } else if (word == "(" || word == "=") {
        if (is_name(before) && !takes_parentheses(before)) add(part_.declares, before);
        if (word == "(") skip_past(")", "(");
      } else if (word == "{") {
        skip_past("}", "{");
      }
      // A function ends with its brace, everything else with a semicolon.
      if (word != ";" && (word != "{" || is_type)) continue;
      is_type = false;
      end_part();
    }
    end_part();
    return std::move(parts_);
  }

 private:
  std::string_view next() {
    const std::string_view word = lexer_.next();
    if (is_name(word)) add(part_.names, word);
    return word;
  }

  /// Skips the rest of a list in brackets.
  void skip_past(std::string_view close, std::string_view open) {
    for (int depth = 1; depth > 0;) {
      const std::string_view word = next();
      if (word.empty()) return;
      depth += word == open ? 1 : word == close ? -1 : 0;
    }
  }

  void declare_type() {
    std::string_view name = next();
    if (takes_parentheses(name)) {
      next();
      skip_past(")", "(");
      name = next();
    }
    add(part_.declares, name);
  }

  void take_directive() {
    PreludeLexer words(lexer_.rest_of_line());
    const std::string_view what = words.next();
    if (what.starts_with("if")) ++conditions_;
    if (what == "endif") --conditions_;
    std::string_view word = words.next();
    if (what == "define") add(part_.declares, word);
    for (; !word.empty(); word = words.next())
      if (is_name(word)) add(part_.names, word);
    if (what == "define" || what == "endif") end_part();
  }

  static void add(std::vector<std::string_view>& words, std::string_view word) {
    if (std::ranges::find(words, word) == words.end()) words.push_back(word);
  }

  void end_part() {
    if (conditions_ > 0) return;
    part_.text = text_.substr(begin_, lexer_.at() - begin_);
    begin_ = lexer_.at();
    parts_.push_back(std::move(part_));
    part_ = {};
  }

  std::string_view text_;
  PreludeLexer lexer_;
  std::vector<PreludePart> parts_;
  PreludePart part_;
  std::size_t begin_ = 0;
  int conditions_ = 0;  ///< open `#if` directives
};

/// The parts of one prelude, indexed by the names that they declare.
class PreludeParts {
 public:
  explicit PreludeParts(std::string_view prelude) : parts_(prelude_parts(prelude)) {
    for (std::size_t i = 0; i < parts_.size(); ++i)
      for (const std::string_view name : parts_[i].declares) declared_by_[name].push_back(i);
  }

  std::string needed_by(std::span<const std::string_view> kernels) const {
    std::vector<bool> is_needed(parts_.size());
    for (const std::string_view kernel : kernels) {
      PreludeLexer words(kernel);
      for (std::string_view word = words.next(); !word.empty(); word = words.next())
        need(word, is_needed);
    }
    std::string text;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (is_needed[i]) text += parts_[i].text;
    return text;
  }

 private:
  /// Marks the parts that declare `name`, and all parts that these need.
  void need(std::string_view name, std::vector<bool>& is_needed) const {
    const auto found = declared_by_.find(name);
    if (found == declared_by_.end()) return;
    for (const std::size_t part : found->second) {
      if (is_needed[part]) continue;
      is_needed[part] = true;
      for (const std::string_view other : parts_[part].names) need(other, is_needed);
    }
  }

  std::vector<PreludePart> parts_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> declared_by_;
};

// Never destroyed, because a thread may still emit while the process exits.
const PreludeParts& cuda_parts() {
  static const auto& parts = *new PreludeParts(prelude_text(Prelude::cuda));
  return parts;
}
/// The parts that both preludes have.
const PreludeParts& shared_parts() {
  static const auto& parts = *new PreludeParts(
      prelude_text(Prelude::host).substr(prelude_of_one_device(Prelude::host).size()));
  return parts;
}

}  // namespace

std::vector<PreludePart> prelude_parts(std::string_view prelude) {
  return Splitter(prelude).split();
}

std::string prelude_for(std::span<const std::string_view> kernels, Prelude which) {
  if (which == Prelude::cuda) return cuda_parts().needed_by(kernels);
  return std::string(prelude_of_one_device(which)) + shared_parts().needed_by(kernels);
}

}  // namespace sinter
