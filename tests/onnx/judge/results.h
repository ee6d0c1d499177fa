// The expected verdicts of all cases, in tests/onnx/results.json.
#pragma once

#include <map>
#include <span>
#include <string>

#include "tests/onnx/judge/judge.h"

namespace sinter::test {

/// The verdicts of one family.
struct FamilyResults {
  int cases = 0;
  int passed = 0;
  int with_constants = 0;  ///< of the passed: some inputs must be known at import
  std::map<std::string, std::string> others;  ///< `unsupported: reason`, by case

  friend bool operator==(const FamilyResults&, const FamilyResults&) = default;
};

FamilyResults results_of(std::span<const ImportedCase> cases, std::span<const Verdict> verdicts);

/// The expected results of `family`; empty ones if the file does not name it.
FamilyResults expected_results(const std::string& family);
std::map<std::string, FamilyResults> all_expected_results();
/// Rewrites the results of `family` in the file.
void bless_results(const std::string& family, const FamilyResults& results);

/// One line per case that differs; empty if none does.
std::string difference(const FamilyResults& actual, const FamilyResults& expected);

}  // namespace sinter::test
