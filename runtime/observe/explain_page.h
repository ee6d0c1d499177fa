// The embedded HTML page that shows an explanation, without the data.
#pragma once

#include <cstdint>
#include <string_view>

namespace sinter {

/// `frame` is the HTML with marks that explain_html.cpp replaces by style, data and script.
enum class ExplainPage : std::uint8_t { frame, style, script };
/// The text of a part, from runtime/observe/page. `script` contains all of its .js files, in the
/// order of runtime/CMakeLists.txt.
std::string_view explain_page_text(ExplainPage part);

}  // namespace sinter
