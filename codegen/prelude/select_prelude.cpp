#include "codegen/prelude/select_prelude.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>
#include <unordered_set>

namespace sinter {

namespace {

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

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
      } else if (is_letter(c)) {
        while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
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
  return !word.empty() && is_letter(word[0]) &&
         std::isdigit(static_cast<unsigned char>(word[0])) == 0;
}

/// True for words that precede parentheses without being declared by them.
bool takes_parentheses(std::string_view word) {
  constexpr std::array<std::string_view, 3> kWords = {"alignas", "sizeof", "__attribute__"};
  return std::ranges::find(kWords, word) != kWords.end();
}

class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text), lexer_(text) {}

  std::vector<PreludePart> split() {
    for (std::string_view word = lexer_.next(); !word.empty(); word = lexer_.next()) {
      if (word == "#")
        take_directive();
      else
        take(word);
      before_ = word;
    }
    end_part(text_.size());
    return std::move(parts_);
  }

 private:
  void take_directive() {
    const std::string_view line = lexer_.rest_of_line();
    PreludeLexer words(line);
    const std::string_view what = words.next();
    if (what.starts_with("if")) ++conditions_;
    if (what == "endif") --conditions_;
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
      if (what == "define" && !was_defined_) declare(word);
      was_defined_ = true;
      if (is_name(word)) name(word);
    }
    was_defined_ = false;
    const bool ends = what == "define" || what == "endif";
    if (ends && braces_ == 0 && conditions_ == 0) end_part(lexer_.at());
  }

  void take(std::string_view word) {
    if (is_name(word)) name(word);
    if (word == "{") ++braces_;
    if (braces_ == 0 && !is_in_template_list(word)) take_at_top(word);
    if (word == "}") --braces_;
    // A function ends with its brace, everything else with a semicolon.
    const bool ends = word == ";" || (word == "}" && !is_type_);
    if (!ends || braces_ != 0) return;
    is_type_ = awaits_type_ = false;
    if (conditions_ == 0) end_part(lexer_.at());
  }

  /// Tracks template parameter lists. Their default arguments contain `=` but declare nothing.
  bool is_in_template_list(std::string_view word) {
    if (before_ == "template") is_template_list_ = true;
    if (!is_template_list_) return false;
    angles_ += word == "<" ? 1 : word == ">" ? -1 : 0;
    is_template_list_ = angles_ > 0;
    return true;
  }

  /// Finds declared names: a function before `(`, a type after `struct` or `union`, a value or an
  /// alias before `=`.
  void take_at_top(std::string_view word) {
    const bool has_name = is_name(before_) && !takes_parentheses(before_);
    if (word == "(") {
      if (parentheses_++ == 0 && has_name) declare(before_);
    } else if (word == ")") {
      --parentheses_;
    } else if (word == "=" && has_name && parentheses_ == 0) {
      declare(before_);
    } else if (word == "struct" || word == "union") {
      is_type_ = awaits_type_ = true;
    } else if (awaits_type_ && is_name(word) && !takes_parentheses(word) && parentheses_ == 0) {
      declare(word);
      awaits_type_ = false;
    }
  }

  void declare(std::string_view word) { add(part_.declares, word); }
  void name(std::string_view word) { add(part_.names, word); }
  static void add(std::vector<std::string_view>& words, std::string_view word) {
    if (std::ranges::find(words, word) == words.end()) words.push_back(word);
  }

  void end_part(std::size_t end) {
    part_.text = text_.substr(begin_, end - begin_);
    begin_ = end;
    parts_.push_back(std::move(part_));
    part_ = {};
  }

  std::string_view text_;
  PreludeLexer lexer_;
  std::vector<PreludePart> parts_;
  PreludePart part_;
  std::size_t begin_ = 0;
  std::string_view before_;
  int braces_ = 0;
  int parentheses_ = 0;
  int angles_ = 0;      ///< open `<` of a template parameter list
  int conditions_ = 0;  ///< open `#if` directives
  bool is_template_list_ = false;
  bool is_type_ = false;
  bool awaits_type_ = false;
  bool was_defined_ = false;
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
    std::vector<std::size_t> left;
    const auto need = [&](std::string_view name) {
      const auto found = declared_by_.find(name);
      if (found == declared_by_.end()) return;
      for (const std::size_t part : found->second) {
        if (is_needed[part]) continue;
        is_needed[part] = true;
        left.push_back(part);
      }
    };
    for (const std::string_view kernel : kernels) {
      PreludeLexer words(kernel);
      for (std::string_view word = words.next(); !word.empty(); word = words.next()) need(word);
    }
    while (!left.empty()) {
      const std::size_t part = left.back();
      left.pop_back();
      for (const std::string_view name : parts_[part].names) need(name);
    }
    std::string text;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (is_needed[i]) text += parts_[i].text;
    return text;
  }

 private:
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
