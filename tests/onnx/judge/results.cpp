#include "tests/onnx/judge/results.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sinter::test {

namespace {

using Json = nlohmann::ordered_json;

std::filesystem::path results_file() {
  return std::filesystem::path(SINTER_SOURCE_DIR) / "tests/onnx/results.json";
}

Json read_results() {
  std::ifstream file(results_file());
  return file ? Json::parse(file) : Json::object();
}

}  // namespace

FamilyResults results_of(std::span<const ImportedCase> cases, std::span<const Verdict> verdicts) {
  FamilyResults results{.cases = static_cast<int>(cases.size())};
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (verdicts[i].status == Status::passed) {
      ++results.passed;
      results.with_constants += cases[i].has_constant_inputs() ? 1 : 0;
    } else {
      results.others.emplace(cases[i].test().name, text_of(verdicts[i]));
    }
  return results;
}

std::map<std::string, FamilyResults> all_expected_results() {
  const Json all = read_results();
  std::map<std::string, FamilyResults> families;
  for (const auto& [family, entry] : all.items()) {
    FamilyResults results{.cases = entry.at("cases"),
                          .passed = entry.at("passed"),
                          .with_constants = entry.value("with_constants", 0)};
    for (const auto& [name, text] : entry.at("others").items())
      results.others.emplace(name, text.get<std::string>());
    families.emplace(family, std::move(results));
  }
  return families;
}

FamilyResults expected_results(const std::string& family) { return all_expected_results()[family]; }

void bless_results(const std::string& family, const FamilyResults& results) {
  Json entry = {{"cases", results.cases}, {"passed", results.passed}};
  if (results.with_constants > 0) entry["with_constants"] = results.with_constants;
  entry["others"] = Json::object();
  for (const auto& [name, text] : results.others) entry["others"][name] = text;
  const Json before = read_results();
  std::map<std::string, Json> families;
  for (const auto& [name, value] : before.items()) families.emplace(name, value);
  families.insert_or_assign(family, entry);
  Json all = Json::object();
  for (const auto& [name, value] : families) all[name] = value;
  std::ofstream(results_file()) << all.dump(1) << "\n";
}

std::string difference(const FamilyResults& actual, const FamilyResults& expected) {
  std::string text;
  for (const auto& [name, verdict] : actual.others)
    if (const auto found = expected.others.find(name); found == expected.others.end())
      text += fmt::format("{}: {}; it passed before\n", name, verdict);
    else if (found->second != verdict)
      text += fmt::format("{}: {}; before: {}\n", name, verdict, found->second);
  for (const auto& [name, verdict] : expected.others)
    if (!actual.others.contains(name))
      text += fmt::format("{}: passes, or is gone; before: {}\n", name, verdict);
  if (text.empty() && actual != expected)
    text = fmt::format("{} of {} pass, {} with constant inputs; before: {} of {}, {}\n",
                       actual.passed, actual.cases, actual.with_constants, expected.passed,
                       expected.cases, expected.with_constants);
  return text;
}

}  // namespace sinter::test
