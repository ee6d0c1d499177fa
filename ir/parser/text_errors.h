// Collects the mistakes found in a text and throws one error that quotes the line of each.
#pragma once

#include "ir/text/lexer.h"

#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// A mistake that ends its statement. The parser catches it and continues with the next statement.
struct TextError {
  TextPosition position;
  std::string message;
};

class TextErrors {
 public:
  TextErrors(std::string_view text, std::string_view file_name)
      : text_(text), file_name_(file_name) {}

  /// Adds a mistake, unless it repeats an earlier one.
  void add(TextError error);
  /// True after 500 mistakes; further mistakes are dropped.
  bool is_full() const { return errors_.size() >= kMaxErrors; }
  /// Throws a UserError that lists all mistakes in text order. Does nothing if there are none.
  void throw_if_any();

 private:
  static constexpr std::size_t kMaxErrors = 500;

  std::string excerpt(TextPosition position) const;

  std::string_view text_;
  std::string file_name_;
  std::vector<TextError> errors_;
};

/// `; did you mean exp?` with the candidate most similar to `name`, or "" if none is similar. Lists
/// up to three candidates if they are equally similar.
std::string suggestion(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace sinter
