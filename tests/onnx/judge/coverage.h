// The results of all cases as a page.
#pragma once

#include <map>
#include <string>

#include "tests/onnx/judge/results.h"

namespace sinter::test {

/// Markdown: totals, families that do not pass completely, the others by name, and the reasons.
std::string coverage_page(const std::map<std::string, FamilyResults>& families);

/// The text between the marks of docs/reference/onnx_tests.md, and the text that belongs there.
struct CoverageOfPage {
  std::string found;
  std::string wanted;
};
CoverageOfPage coverage_of_page();
/// Rewrites the page for the present results.
void bless_coverage_page();

}  // namespace sinter::test
