#include "tests/virtual_gpu/mutation/tool/cases.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "sinter/error.h"
#include "tests/support/files/read_text.h"
#include "tests/support/graphs/patterns.h"

namespace sinter::virtual_gpu::mutation {

namespace {

using test::GoldenSizes;
using test::Pattern;

constexpr const char* kPatterns = SINTER_SOURCE_DIR "/tests/golden/patterns";

/// Sizes at which each barrier matters, for patterns whose own small sizes leave a block one round
/// of work, or one thread that stores results.
struct RunSizes {
  std::string_view pattern;  ///< its name begins so; the first one counts
  GoldenSizes run = {};      ///< as in test::Pattern; empty: those of the file
  int sm_count = 2;
};
const std::vector<RunSizes>& run_sizes() {
  static const auto& sizes = *new std::vector<RunSizes>{
      // Interpreting the size of its file takes long.
      {.pattern = "column_sum_odd", .run = {{"16384", 160}}},
      // Several threads store results of channels. Some blocks have two tiles, whose threads copy
      // other vectors than they read.
      {.pattern = "batch_norm_large_f32",
       .run = {{"128", 8}, {"32", 8}, {"112", 51}},
       .sm_count = 3},
      {.pattern = "batch_norm_large", .run = {{"128", 12}, {"32", 8}, {"112", 50}}},
      {.pattern = "batch_norm_backward_large_f32", .run = {}},
      {.pattern = "batch_norm_backward_large", .run = {{"128", 12}, {"32", 8}, {"112", 50}}},
      // Blocks have several tiles of columns.
      {.pattern = "batch_norm_backward_channels_last",
       .run = {{"512", 100}, {"480", 64}, {"23520", 3136}, {"3360", 448}},
       .sm_count = 1},
      // Blocks have several tiles of rows.
      {.pattern = "transformer", .run = {{"rows", 24}, {"16", 1}, {"5632", 1408}}, .sm_count = 1},
  };
  return sizes;
}

/// Graphs with kinds of synchronisation that no pattern has: scans in tiles, scatters, and updates.
constexpr const char* kOthers[] = {
    "mutation/long_scan", "mutation/long_scatters of n = 8200",  "run/scans",
    "run/scatter",        "run/rms_norm_backward of rows = 130", "run/smaller_updates of n = 3",
};

/// Candidates have kinds of synchronisation that no default has.
constexpr const char* kWithCandidates[] = {
    "patterns/softmax of 4096",
    "patterns/column_softmax of 4096",
    "patterns/full_sum of 65536",
    "patterns/batch_norm_large",
};
constexpr int kMostCandidates = 6;
constexpr int kManySms = 16;  ///< for clusters, and for rows that many blocks share

constexpr const char* kOnOldGpus[] = {
    "patterns/softmax of 4096",
    "patterns/softmax of 65536",
    "patterns/column_sum of 16384",
    "patterns/full_sum of 65536",
    "patterns/row_and_column_sum of 1024",
    "patterns/batch_norm_large",
    "patterns/clip_adamw",
    "run/scans",
};

bool has_clusters(const Program& program) {
  const auto is_cluster = [](const Kernel& kernel) { return kernel.schedule.cluster > 1; };
  return std::ranges::any_of(program.kernels, [&](const Kernel& kernel) {
    return is_cluster(kernel) || std::ranges::any_of(kernel.sections, is_cluster);
  });
}

const RunSizes* own_sizes(const std::string& pattern) {
  const auto found = std::ranges::find_if(
      run_sizes(), [&](const RunSizes& sizes) { return pattern.starts_with(sizes.pattern); });
  return found == run_sizes().end() ? nullptr : &*found;
}

Case case_of(Pattern pattern) {
  const RunSizes* const sizes = own_sizes(pattern.name);
  if (sizes && !sizes->run.empty()) pattern.run = sizes->run;
  const int few_sms = sizes ? sizes->sm_count : 2;
  const Pattern small = test::small_pattern(pattern);
  return {.name = "patterns/" + pattern.name,
          .text = small.text,
          .sizes = small.sizes,
          .chip = small.chip,
          .sm_count = has_clusters(test::plan_pattern(small)) ? kManySms : few_sms};
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

std::vector<Case> cases_of_graph(const std::filesystem::path& file, const std::string& name) {
  const std::string text = test::read_text(file);
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
  const bool is_own = file.starts_with("mutation/");
  const std::string path = is_own
                               ? fmt::format("{}/tests/virtual_gpu/mutation/graphs/{}.sinter",
                                             SINTER_SOURCE_DIR, file.substr(file.find('/') + 1))
                               : fmt::format("{}/tests/golden/{}.sinter", SINTER_SOURCE_DIR, file);
  if (!std::filesystem::exists(path)) return {};
  std::vector<Case> cases;
  if (!file.starts_with("patterns/")) {
    cases = cases_of_graph(path, file);
    for (Case& one : cases)
      if (is_own) one.sm_count = kManySms;
    return cases;
  }
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
    const bool has_own_sizes = own_sizes(one.name.substr(one.name.find('/') + 1)) != nullptr;
    if (parts.candidate >= 0 && !has_own_sizes) one.sm_count = kManySms;
    return std::move(one);
  }
  throw UserError(
      fmt::format("there is no case {} of the mutation test; the names are those of "
                  "files under tests/golden and tests/virtual_gpu/mutation/graphs",
                  name));
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& file : test::golden_graphs(kPatterns))
    for (Case& one : cases_of_forms(file)) cases.push_back(std::move(one));
  for (const char* const name : kOthers) cases.push_back(find_case(name));
  for (const char* const name : kOnOldGpus)
    cases.push_back(find_case(std::string(name) + " on sm_75"));
  for (const char* const name : kWithCandidates)
    for (int i = 0; i < kMostCandidates; ++i)
      cases.push_back(find_case(fmt::format("{}, candidate {}", name, i)));
  return cases;
}

}  // namespace sinter::virtual_gpu::mutation
