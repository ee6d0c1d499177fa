#include "tests/support/patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "sinter/text.h"
#include "tests/support/golden.h"

namespace sinter::test {
namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// What stands behind `// KEY: ` in `text`, or "". Every start of a test program asks: no regex.
std::string head_line(const std::string& text, const std::string& key) {
  const std::string head = "// " + key + ": ";
  const std::size_t at = text.find(head);
  if (at == text.npos) return "";
  const std::size_t begin = at + head.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

std::string with_columns(std::string text, const std::string& columns) {
  constexpr std::string_view kWord = "COLUMNS";
  for (std::size_t at = text.find(kWord); at != text.npos; at = text.find(kWord, at))
    text.replace(at, kWord.size(), columns);
  return text;
}

std::vector<std::string> head_list(const std::string& text, const std::string& key) {
  std::vector<std::string> result;
  std::istringstream list(head_line(text, key));
  for (std::string item; std::getline(list >> std::ws, item, ',');) result.push_back(item);
  return result;
}

/// The figure for extent number `place`.
double figure(const std::vector<std::string>& list, std::size_t place, double otherwise) {
  return list.empty() ? otherwise : std::stod(list[std::min(place, list.size() - 1)]);
}

void add_patterns(const std::filesystem::path& file, std::vector<Pattern>& result) {
  const std::string text = text_of(file);
  std::vector<std::string> columns = head_list(text, "columns");
  if (columns.empty()) columns.emplace_back("-");
  const std::vector<GoldenSizes> sizes = golden_sizes(text);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool has_extent = columns[i] != "-";
    result.push_back({.name = file.stem().string() + (has_extent ? " of " + columns[i] : ""),
                      .text = with_columns(text, columns[i]),
                      .columns = columns[i],
                      .sizes = sizes.empty() ? GoldenSizes{} : sizes.front(),
                      .launches = std::stoul(head_line(text, "launches")),
                      .shows_reasons = head_line(text, "reasons") == "shown",
                      .bytes = figure(head_list(text, "bytes"), i, 1),
                      .sectors = figure(head_list(text, "sectors"), i, 0),
                      .bytes_in_flight = static_cast<std::int64_t>(
                          figure(head_list(text, "in_flight"), i, 0) * 1024),
                      .in_flight_because = head_line(text, "in_flight_because")});
  }
}

}  // namespace

Graph Pattern::graph() const { return parse(text, name); }

std::vector<Size> Pattern::named_sizes() const {
  std::vector<Size> result;
  for (const auto& [symbol, value] : sizes) result.push_back({symbol, value});
  return result;
}

std::vector<Pattern> patterns(const std::filesystem::path& folder) {
  std::vector<Pattern> result;
  for (const std::filesystem::path& file : golden_graphs(folder)) add_patterns(file, result);
  return result;
}

}  // namespace sinter::test
