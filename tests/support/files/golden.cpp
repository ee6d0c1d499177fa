#include "tests/support/files/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "ir/verify/symbol_sizes.h"
#include "sinter/text.h"
#include "tests/support/files/read_text.h"

namespace sinter::test {

std::vector<GoldenSizes> golden_sizes(const std::string& text) {
  constexpr std::string_view kHead = "// sizes:";
  std::vector<GoldenSizes> result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kHead)) continue;
    std::ranges::replace(line, ',', ' ');
    std::istringstream words(line.substr(kHead.size()));
    result.emplace_back();
    for (std::string name, equals, value; words >> name >> equals >> value;)
      result.back().emplace_back(name, std::stoll(value));
  }
  return result;
}

std::vector<std::filesystem::path> golden_graphs(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".sinter") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

namespace {

GoldenProgram plan_text(const std::filesystem::path& file, const std::string& text,
                        const PlanOptions& options, std::string_view target) {
  const Graph graph = parse(text, file.filename().string());
  const std::vector<GoldenSizes> sizes = golden_sizes(text);
  std::vector<NamedSize> named;
  if (!sizes.empty())
    for (const auto& [name, value] : sizes.front()) named.push_back({name, value});
  const Facts facts{.symbols = symbols_from_sizes(graph, named)};
  return {.name = file.stem().string(),
          .program = plan(graph, *find_target(target), facts, options)};
}

/// All words that a graph defines: results before `=`, inputs before `:`, symbols among extents.
std::set<std::string> names_in(const std::string& text) {
  std::set<std::string> names;
  const auto collect = [&](const std::string& from, const char* pattern) {
    const std::regex name(pattern);
    for (std::sregex_iterator match(from.begin(), from.end(), name), end; match != end; ++match)
      names.insert((*match)[1]);
  };
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("//")) continue;
    if (line.starts_with("graph ")) {
      collect(line, R"([(,]\s*([a-z_]\w*):)");
      collect(line, R"([\[,* ]([a-z_]\w*)[\],* ])");
    } else if (const std::size_t equals = line.find(" = "); equals != line.npos) {
      collect(line.substr(0, equals), R"(([a-z_]\w*))");
    }
  }
  return names;
}

}  // namespace

GoldenProgram plan_golden(const std::filesystem::path& file, const PlanOptions& options,
                          std::string_view target) {
  return plan_text(file, read_text(file), options, target);
}

GoldenProgram plan_renamed(const std::filesystem::path& file, const std::string& prefix) {
  const std::string text = read_text(file);
  const std::set<std::string> names = names_in(text);
  std::string renamed;
  const std::regex word(R"(\w+)");
  std::string::const_iterator done = text.begin();
  for (std::sregex_iterator match(text.begin(), text.end(), word), end; match != end; ++match) {
    renamed.append(done, (*match)[0].first);
    if (names.contains(match->str())) renamed += prefix;
    renamed += match->str();
    done = (*match)[0].second;
  }
  return plan_text(file, renamed.append(done, text.end()), {}, "sm_90");
}

void expect_golden(const std::filesystem::path& file, const std::string& text) {
  if (std::getenv("SINTER_BLESS") != nullptr) {
    std::ofstream(file) << text;
    return;
  }
  const std::string expected = read_text(file);
  if (expected == text) return;
  std::istringstream old_lines(expected);
  std::istringstream new_lines(text);
  std::string old_line;
  std::string new_line;
  for (int line = 1;; ++line) {
    const bool has_old = static_cast<bool>(std::getline(old_lines, old_line));
    const bool has_new = static_cast<bool>(std::getline(new_lines, new_line));
    if (has_old && has_new && old_line == new_line) continue;
    ADD_FAILURE() << file.filename().string() << ":" << line << "\n- "
                  << (has_old ? old_line : "(end)") << "\n+ " << (has_new ? new_line : "(end)")
                  << "\nSINTER_BLESS=1 accepts the new text; read it first\n\n"
                  << text;
    return;
  }
}

}  // namespace sinter::test
