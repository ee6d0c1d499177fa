#include <array>

#include "runtime/observe/explain_page.h"
#include "sinter/explain.h"

namespace sinter {

namespace {

/// JSON that is safe inside an HTML script element: <, > and & become \u escapes. They occur only
/// in strings, where JSON allows these escapes.
std::string json_in_html(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    switch (json[i]) {
      case '<': text += "\\u003c"; break;
      case '>': text += "\\u003e"; break;
      case '&': text += "\\u0026"; break;
      default: text += json[i];
    }
  }
  return text;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

}  // namespace

std::string explanation_html(const Explanation& explanation) {
  struct Part {
    std::string_view mark;
    std::string text;
  };
  const std::array<Part, 4> parts = {{
      {"{{title}}", escaped(explanation.graph)},
      {"{{style}}", std::string(explain_page_text(ExplainPage::style))},
      {"{{data}}", json_in_html(explanation_json(explanation))},
      {"{{script}}", std::string(explain_page_text(ExplainPage::script))},
  }};
  // Replaces all marks in one pass, since the inserted text may contain a mark.
  std::string_view frame = explain_page_text(ExplainPage::frame);
  std::string page;
  for (const Part& part : parts) {
    const std::size_t place = frame.find(part.mark);
    page += frame.substr(0, place);
    page += part.text;
    frame.remove_prefix(place + part.mark.size());
  }
  return page += frame;
}

}  // namespace sinter
