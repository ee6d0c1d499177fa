# Run by cmake -P: writes the explanation page as C++ string literals. Arguments: FOLDER, SCRIPTS
# (comma-separated file names), OUTPUT.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/text_literal.cmake)

file(READ ${FOLDER}/page.html frame)
file(READ ${FOLDER}/page.css style)
set(script "")
string(REPLACE "," ";" names "${SCRIPTS}")
foreach(name IN LISTS names)
  file(READ ${FOLDER}/${name} part)
  string(APPEND script "${part}")
endforeach()
to_literal(frame_literal "${frame}")
to_literal(style_literal "${style}")
to_literal(script_literal "${script}")
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [=[
// Generated from runtime/observe/page by cmake/embed_explain_page.cmake.
#include "runtime/observe/explain_page.h"

namespace sinter {
namespace {

constexpr std::string_view kFrame =
@frame_literal@    ;

constexpr std::string_view kStyle =
@style_literal@    ;

constexpr std::string_view kScript =
@script_literal@    ;

}  // namespace

std::string_view explain_page_text(ExplainPage part) {
  switch (part) {
    case ExplainPage::frame: return kFrame;
    case ExplainPage::style: return kStyle;
    default: return kScript;
  }
}

}  // namespace sinter
]=])
