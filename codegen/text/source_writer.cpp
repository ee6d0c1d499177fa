#include "codegen/text/source_writer.h"

#include <fmt/format.h>

namespace sinter {

void SourceWriter::line(std::string_view text) {
  if (!text.empty()) {
    text_.append(static_cast<std::size_t>(depth_) * 2, ' ');
    text_ += text;
  }
  text_ += '\n';
}

void SourceWriter::directive(std::string_view text) {
  text_ += text;
  text_ += '\n';
}

void SourceWriter::open(std::string_view head) {
  line(head.empty() ? "{" : fmt::format("{} {{", head));
  ++depth_;
}

void SourceWriter::close() {
  --depth_;
  line("}");
}

std::string SourceWriter::loop_head(std::string_view variable, std::string_view count) {
  return fmt::format("for (int {0} = 0; {0} < {1}; ++{0})", variable, count);
}

}  // namespace sinter
