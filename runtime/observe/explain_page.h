// The page that explanations are shown in, without their data.
#pragma once

#include <cstdint>
#include <string_view>

namespace sinter {

/// `frame` is the HTML, with a mark where each of the rest goes (explain_html.cpp).
enum class ExplainPage : std::uint8_t { frame, style, script };
/// From runtime/observe/page; `script` is all of its .js files in the order of
/// runtime/CMakeLists.txt.
std::string_view explain_page_text(ExplainPage part);

}  // namespace sinter
