#include "codegen/source_writer.h"

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

}  // namespace sinter
