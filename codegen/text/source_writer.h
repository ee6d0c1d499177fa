// Builds the text of a source file line by line, indented by block depth.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace sinter {

/// Collects lines. Each block is one call, so braces always match.
class SourceWriter {
 public:
  explicit SourceWriter(int depth = 0) : depth_(depth) {}

  /// One line at the current indentation. An empty line gets no indentation.
  void line(std::string_view text);
  /// A line without indentation: `#pragma unroll`.
  void directive(std::string_view text);
  /// `head {`, the lines that `body` writes, `}`.
  void block(std::string_view head, std::invocable auto body) {
    open(head);
    body();
    close();
  }
  /// The lines that `body` writes, in an `if` block unless `condition` is empty.
  void block_if(std::string_view condition, std::invocable auto body) {
    if (condition.empty()) return body();
    block("if (" + std::string(condition) + ")", body);
  }
  /// A loop over 0 … count - 1 that the compiler unrolls.
  void unrolled(std::string_view variable, std::string_view count, std::invocable auto body) {
    directive("#pragma unroll");
    block(loop_head(variable, count), body);
  }

  const std::string& text() const { return text_; }

 private:
  void open(std::string_view head);
  void close();
  static std::string loop_head(std::string_view variable, std::string_view count);

  std::string text_;
  int depth_;
};

}  // namespace sinter
