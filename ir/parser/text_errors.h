// The mistakes found in a text: collected, then thrown as one error that shows each in its line.
#pragma once

#include "ir/text/lexer.h"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

/// A mistake that ends the statement it is found in; the parser catches it there.
struct TextError {
  TextPlace place;
  std::string message;
};

class TextErrors {
 public:
  TextErrors(std::string_view text, std::string_view file_name)
      : text_(text), file_name_(file_name) {}

  void add(TextError error);
  /// True once so many are found that the rest would only be noise.
  bool is_full() const { return errors_.size() >= kMost; }
  /// Throws the UserError that lists all, in the order of the text; nothing if there are none.
  void throw_if_any() const;

 private:
  static constexpr std::size_t kMost = 500;

  std::string excerpt(TextPlace place) const;

  std::string_view text_;
  std::string file_name_;
  std::vector<TextError> errors_;
};

/// `; did you mean 'exp'?` for the one of `candidates` most like `name`, else "". Names its best
/// two or three where they are equally near.
std::string suggestion(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace sinter
