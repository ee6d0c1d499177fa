#include "tests/onnx/judge/coverage.h"

#include <filesystem>
#include <fstream>
#include <regex>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sinter/error.h"
#include "tests/support/files/read_text.h"

namespace sinter::test {

namespace {

struct Counts {
  int cases = 0;
  int passed = 0;
  int with_constants = 0;
  int unsupported = 0;
  int inexact = 0;
  int failed = 0;
  int out_of_scope = 0;

  void add(const Counts& other) {
    cases += other.cases;
    passed += other.passed;
    with_constants += other.with_constants;
    unsupported += other.unsupported;
    inexact += other.inexact;
    failed += other.failed;
    out_of_scope += other.out_of_scope;
  }
};

Counts counts_of(const FamilyResults& family) {
  Counts counts{
      .cases = family.cases, .passed = family.passed, .with_constants = family.with_constants};
  for (const auto& [name, verdict] : family.others) {
    counts.unsupported += verdict.starts_with("unsupported") ? 1 : 0;
    counts.inexact += verdict.starts_with("the expected numbers are inexact") ? 1 : 0;
    counts.failed += verdict.starts_with("failed") ? 1 : 0;
    counts.out_of_scope += verdict.starts_with("out of scope") ? 1 : 0;
  }
  return counts;
}

std::string row_of(const std::string& name, const Counts& counts) {
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", name, counts.cases, counts.passed,
                     counts.inexact, counts.unsupported, counts.failed, counts.out_of_scope);
}

/// A verdict without the numbers of nodes and the names of values, so that equal reasons are equal.
std::string general_reason(std::string verdict) {
  static const std::regex head(
      R"(the model cannot be imported, because of (one problem|\d+ problems): +)");
  static const std::regex node(R"(node (\d+|'[^']*') \(ai\.onnx\.([\w.]+)\)( in [^:]*)?: )");
  verdict = std::regex_replace(verdict, head, "");
  // Of several problems, the first is the reason.
  if (std::smatch first; std::regex_search(verdict, first, node)) {
    const std::string rest = first.suffix();
    std::smatch second;
    const std::string reason = std::regex_search(rest, second, node) ? second.prefix().str() : rest;
    verdict = verdict.substr(0, verdict.find(": ")) + ": `" + first[2].str() + "`: " + reason;
  }
  while (verdict.ends_with(' ')) verdict.pop_back();
  static const std::regex value(R"((input|output) '[^']*')");
  return std::regex_replace(verdict, value, "$1");
}

}  // namespace

std::string coverage_page(const std::map<std::string, FamilyResults>& families) {
  Counts total;
  std::string incomplete;
  std::vector<std::string> complete;
  std::map<std::string, int> reasons;
  for (const auto& [name, family] : families) {
    const Counts counts = counts_of(family);
    total.add(counts);
    if (counts.passed == counts.cases)
      complete.push_back(name);
    else
      incomplete += row_of(name, counts);
    for (const auto& [test, verdict] : family.others) ++reasons[general_reason(verdict)];
  }
  std::string text = fmt::format(
      "\n{} of {} cases pass, which is {:.1f} % of the {} in scope. Of these, {} need inputs that "
      "are "
      "constants.\n",
      total.passed, total.cases, 100.0 * total.passed / (total.cases - total.out_of_scope),
      total.cases - total.out_of_scope, total.with_constants);
  text +=
      "\n| family | cases | pass | expected inexact | not imported | fail | out of scope "
      "|\n|---|---|---|---|---|---|---|\n";
  text += row_of("**all**", total) + incomplete;
  text += fmt::format("\nAll cases of these families pass: {}.\n", fmt::join(complete, ", "));
  text += "\n| reason | cases |\n|---|---|\n";
  for (const auto& [reason, count] : reasons) text += fmt::format("| {} | {} |\n", reason, count);
  return text + "\n";
}

namespace {

std::filesystem::path page_file() {
  return std::filesystem::path(SINTER_SOURCE_DIR) / "docs/reference/onnx_tests.md";
}

struct PageParts {
  std::string before;
  std::string between;
  std::string after;
};

PageParts read_page() {
  constexpr std::string_view kBegin = "<!-- onnx_tests:begin -->\n";
  constexpr std::string_view kEnd = "<!-- onnx_tests:end -->\n";
  const std::string text = read_text(page_file());
  const std::size_t begin = text.find(kBegin);
  const std::size_t end = text.find(kEnd);
  ensure(begin != std::string::npos && end != std::string::npos && begin < end,
         "the page has the marks of the results");
  const std::size_t first = begin + kBegin.size();
  return {text.substr(0, first), text.substr(first, end - first), text.substr(end)};
}

}  // namespace

CoverageOfPage coverage_of_page() {
  return {read_page().between, coverage_page(all_expected_results())};
}

void bless_coverage_page() {
  const PageParts page = read_page();
  std::ofstream(page_file()) << page.before << coverage_page(all_expected_results()) << page.after;
}

}  // namespace sinter::test
