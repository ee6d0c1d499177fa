#include "tests/virtual_gpu/mutation/tool/cases.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sinter/error.h"
#include "tests/support/files/read_text.h"
#include "tests/support/graphs/patterns.h"

namespace sinter::virtual_gpu::mutation {

namespace {

using test::GoldenSizes;
using test::Pattern;

constexpr const char* kPatterns = SINTER_SOURCE_DIR "/tests/golden/patterns";
constexpr const char* kRuns = SINTER_SOURCE_DIR "/tests/golden/run";

/// Candidates have kinds of synchronisation that no default has.
constexpr const char* kWithCandidates[] = {
    "patterns/softmax of 4096", "patterns/column_softmax of 4096", "patterns/full_sum of 65536",
    "patterns/batch_norm_large", "run/scans",
};
constexpr int kMostCandidates = 12;
constexpr int kSmsForClusters = 16;

constexpr const char* kOnOldGpus[] = {
    "patterns/softmax of 4096", "patterns/softmax of 65536", "patterns/column_sum of 16384",
    "patterns/full_sum of 65536", "patterns/row_and_column_sum of 1024", "patterns/batch_norm_large",
    "patterns/clip_adamw", "run/scans",
};

Case case_of(const Pattern& pattern) {
  const Pattern small = test::small_pattern(pattern);
  const bool has_clusters =
      test::forms_of(test::plan_pattern(small)).find("clusters") != std::string::npos;
  return {.name = "patterns/" + pattern.name,
          .text = small.text,
          .sizes = small.sizes,
          .chip = small.chip,
          .sm_count = has_clusters ? kSmsForClusters : 2};
}

/// One pattern of the file for each form of kernels: the one with the shortest rows or columns.
std::vector<Case> cases_of_forms(const std::filesystem::path& file) {
  std::set<std::string> forms;
  std::vector<Case> cases;
  for (const Pattern& pattern : test::patterns_in(file))
    if (forms.insert(test::forms_of(test::plan_pattern(pattern))).second)
      cases.push_back(case_of(pattern));
  return cases;
}

std::vector<Case> cases_of_run(const std::filesystem::path& file) {
  const std::string text = test::read_text(file);
  const std::string name = "run/" + file.stem().string();
  const std::vector<GoldenSizes> sizes = test::golden_sizes(text);
  if (sizes.empty()) return {{.name = name, .text = text}};
  std::vector<Case> cases;
  for (const GoldenSizes& one : sizes) {
    std::string words;
    for (const auto& [symbol, value] : one)
      words += fmt::format("{}{} = {}", words.empty() ? " of " : ", ", symbol, value);
    cases.push_back({.name = name + words, .text = text, .sizes = one});
  }
  return cases;
}

/// Splits `name, candidate 2` and `name on sm_75`.
struct NameParts {
  std::string base;
  int capability = 90;
  int candidate = -1;
};
NameParts parts_of(const std::string& name) {
  NameParts parts{.base = name};
  constexpr std::string_view kCandidate = ", candidate ";
  constexpr std::string_view kDevice = " on sm_";
  if (const auto at = parts.base.find(kCandidate); at != std::string::npos) {
    parts.candidate = std::stoi(parts.base.substr(at + kCandidate.size()));
    parts.base.resize(at);
  }
  if (const auto at = parts.base.find(kDevice); at != std::string::npos) {
    parts.capability = std::stoi(parts.base.substr(at + kDevice.size()));
    parts.base.resize(at);
  }
  return parts;
}

std::vector<Case> all_of_file(const std::string& base) {
  const std::string file = base.substr(0, base.find(" of "));
  const std::string path = fmt::format("{}/tests/golden/{}.sinter", SINTER_SOURCE_DIR, file);
  if (!std::filesystem::exists(path)) return {};
  if (file.starts_with("run/")) return cases_of_run(path);
  std::vector<Case> cases;
  for (const Pattern& pattern : test::patterns_in(path)) cases.push_back(case_of(pattern));
  return cases;
}

}  // namespace

Case find_case(const std::string& name) {
  const NameParts parts = parts_of(name);
  for (Case& one : all_of_file(parts.base)) {
    if (one.name != parts.base) continue;
    one.name = name;
    one.capability = parts.capability;
    one.candidate = parts.candidate;
    if (parts.candidate >= 0) one.sm_count = kSmsForClusters;
    return std::move(one);
  }
  throw UserError(fmt::format("there is no case {} of the mutation test; the names are those of "
                              "files under tests/golden",
                              name));
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& file : test::golden_graphs(kPatterns))
    for (Case& one : cases_of_forms(file)) cases.push_back(std::move(one));
  for (const auto& file : test::golden_graphs(kRuns))
    for (Case& one : cases_of_run(file)) cases.push_back(std::move(one));
  for (const char* const name : kOnOldGpus) cases.push_back(find_case(std::string(name) + " on sm_75"));
  for (const char* const name : kWithCandidates)
    for (int i = 0; i < kMostCandidates; ++i)
      cases.push_back(find_case(fmt::format("{}, candidate {}", name, i)));
  return cases;
}

}  // namespace sinter::virtual_gpu::mutation
