#include "tests/support/graphs/patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "ir/graph/node.h"
#include "ir/verify/symbol_sizes.h"
#include "sinter/text.h"
#include "tests/support/files/read_text.h"

namespace sinter::test {
namespace {

/// The rest of the line `// KEY: …` in `text`, or "". Uses no regex, because every start of a test
/// program calls it.
std::string head_line(const std::string& text, const std::string& key) {
  const std::string head = "// " + key + ": ";
  const std::size_t at = text.find(head);
  if (at == text.npos) return "";
  const std::size_t begin = at + head.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

/// The symbol in place of COLUMNS.
const std::string kColumns = "columns";

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

/// The entries of a list `NAME = NUMBER, …`.
GoldenSizes named_numbers(const std::string& text, const std::string& key) {
  GoldenSizes result;
  for (const std::string& item : head_list(text, key)) {
    const std::size_t equals = item.find(" = ");
    result.emplace_back(item.substr(0, equals), std::stoll(item.substr(equals + 3)));
  }
  return result;
}

/// Replaces every `from` that is an extent of a shape or an attribute, and not part of another
/// number.
std::string with_extent(const std::string& text, const std::string& from, std::int64_t to) {
  const std::string_view breaks = " [],{}";
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + 1)) {
    const std::size_t end = at + from.size();
    if (at == 0 || end == text.size() || breaks.find(text[at - 1]) == breaks.npos ||
        breaks.find(text[end]) == breaks.npos)
      continue;
    result += text.substr(done, at - done) + std::to_string(to);
    done = end;
  }
  return result + text.substr(done);
}

/// The value in `list` for the extent with the index `place`; `otherwise` if the list is empty.
double figure(const std::vector<std::string>& list, std::size_t place, double otherwise) {
  return list.empty() ? otherwise : std::stod(list[std::min(place, list.size() - 1)]);
}

}  // namespace

Graph Pattern::graph() const { return parse(text, name); }

std::vector<Size> Pattern::named_sizes() const {
  std::vector<Size> result;
  for (const auto& [symbol, value] : sizes) result.push_back({symbol, value});
  return result;
}

Target Pattern::target(const Target& base) const {
  Target target = base;
  for (const auto& [name, value] : chip) {
    if (name == "sm_count") target.sm_count = static_cast<int>(value);
    if (name == "bandwidth") target.bandwidth = 1e9 * static_cast<double>(value);
    if (name == "bytes_in_flight") target.bytes_in_flight = value;
  }
  return target;
}

std::string sections_text(const Kernel& kernel) {
  std::string text;
  const std::vector<Kernel>& sections = kernel.sections;
  for (auto first = sections.begin(); first != sections.end();) {
    const auto next = std::ranges::find_if(
        first, sections.end(), [&](const Kernel& section) { return section.kind != first->kind; });
    text +=
        fmt::format("{}{}{}", text.empty() ? " of " : " + ",
                    next - first == 1 ? "" : fmt::format("{} ", next - first), name(first->kind));
    first = next;
  }
  return text;
}

std::string forms_of(const Program& program) {
  std::string text;
  for (const Kernel& kernel : program.kernels) {
    const Schedule& schedule = kernel.schedule;
    text += fmt::format(
        "{}{}{}{}{}{}{}{}", text.empty() ? "" : ", ", name(kernel.kind), sections_text(kernel),
        kernel.reduced.is_number() ? "" : " (symbolic)", schedule.resident ? " (resident)" : "",
        schedule.blocks_per_row() > 1 ? " (clusters)" : "", schedule.tile > 0 ? " (tiles)" : "",
        schedule.resident_tiles.per_block > 0 ? " (resident tiles)" : "");
  }
  return text;
}

Program plan_pattern(const Pattern& pattern) {
  const Graph graph = pattern.graph();
  std::vector<NamedSize> sizes;
  for (const auto& [name, value] : pattern.sizes) sizes.push_back({name, value});
  return plan(graph, pattern.target(), {.symbols = symbols_from_sizes(graph, sizes)});
}

Pattern small_pattern(const Pattern& pattern) {
  constexpr std::int64_t kMostRows = 6;
  constexpr std::int64_t kEnoughElements = 1 << 17;
  // With so few SMs, a few rows of the stated length give each SM as much work as on the H200.
  const GoldenSizes few_sms = {{"sm_count", 2}, {"bandwidth", 60}};
  Pattern small = pattern;
  small.chip = pattern.run_chip.empty() ? few_sms : pattern.run_chip;
  const std::int64_t columns = pattern.columns == "-" ? 1 : std::stoll(pattern.columns);
  const std::int64_t rows = std::clamp<std::int64_t>(kEnoughElements / columns, 2, kMostRows);
  if (pattern.run.empty())
    for (auto& [symbol, value] : small.sizes)
      if (symbol != kColumns) value = std::min(value, rows);
  for (const auto& [what, value] : pattern.run) {
    const bool is_columns = pattern.has_symbolic_columns() && what == pattern.columns;
    const auto size = std::ranges::find(small.sizes, is_columns ? kColumns : what,
                                        &GoldenSizes::value_type::first);
    if (size != small.sizes.end())
      size->second = value;
    else
      small.text = with_extent(small.text, what, value);
  }
  return small;
}

namespace {

/// The pattern of `text` for the entry `place` of its list of extents or symbol sizes.
Pattern pattern_of(const std::string& name, const std::string& text, const std::string& columns,
                   std::size_t place) {
  const std::vector<GoldenSizes> sizes = golden_sizes(text);
  const bool has_extent = columns != "-";
  return {.name = name + (has_extent ? " of " + columns : ""),
          .text = with_columns(text, columns),
          .columns = columns,
          .sizes = sizes.empty() ? GoldenSizes{} : sizes.front(),
          .launches = std::stoul(head_line(text, "launches")),
          .shows_reasons = head_line(text, "reasons") == "shown",
          .bytes = figure(head_list(text, "bytes"), place, 1),
          .layers = static_cast<int>(figure(head_list(text, "layers"), 0, 0)),
          .sectors = figure(head_list(text, "sectors"), place, 0),
          .bytes_in_flight =
              static_cast<std::int64_t>(figure(head_list(text, "in_flight"), place, 0) * 1024),
          .in_flight_because = head_line(text, "in_flight_because"),
          .last_wave = figure(head_list(text, "last_wave"), place, 1.05),
          .last_wave_because = head_line(text, "last_wave_because"),
          .narrow = head_list(text, "narrow"),
          .narrow_because = head_line(text, "narrow_because"),
          .run = named_numbers(text, "run"),
          .run_chip = named_numbers(text, "chip")};
}

/// The same with COLUMNS as a symbol of the size `columns`. Its figures are those of `columns` in
/// the list of extents, or of the last extent.
Pattern symbolic_pattern_of(const std::string& name, const std::string& text,
                            const std::string& columns, std::size_t place) {
  const std::vector<std::string> extents = head_list(text, "columns");
  const auto same = std::ranges::find(extents, columns);
  Pattern pattern =
      pattern_of(name, text, columns, static_cast<std::size_t>(same - extents.begin()));
  pattern.name = name + " of " + kColumns + " = " + columns;
  pattern.fixed_text = std::exchange(pattern.text, with_columns(text, kColumns));
  pattern.sizes.emplace_back(kColumns, std::stoll(columns));
  pattern.bytes = figure(head_list(text, "symbol_bytes"), place, 1.02);
  if (const std::vector<std::string> least = head_list(text, "symbol_in_flight"); !least.empty()) {
    pattern.bytes_in_flight = static_cast<std::int64_t>(figure(least, place, 0) * 1024);
    pattern.in_flight_because = head_line(text, "symbol_in_flight_because");
  }
  if (const std::vector<std::string> most = head_list(text, "symbol_last_wave"); !most.empty()) {
    pattern.last_wave = figure(most, place, 1.05);
    pattern.last_wave_because = head_line(text, "symbol_last_wave_because");
  }
  if (const std::vector<std::string> narrow = head_list(text, "symbol_narrow"); !narrow.empty()) {
    pattern.narrow = narrow;
    pattern.narrow_because = head_line(text, "symbol_narrow_because");
  }
  return pattern;
}

}  // namespace

Pattern Pattern::with_fixed_columns() const {
  Pattern fixed = *this;
  fixed.text = std::exchange(fixed.fixed_text, "");
  std::erase_if(fixed.sizes, [](const auto& size) { return size.first == kColumns; });
  return fixed;
}

Pattern symbolic_pattern(const std::filesystem::path& file, std::int64_t columns) {
  return symbolic_pattern_of(file.stem().string(), read_text(file), std::to_string(columns), 0);
}

std::vector<Pattern> patterns_in(const std::filesystem::path& file) {
  std::vector<Pattern> result;
  const std::string text = read_text(file);
  const std::string name = file.stem().string();
  std::vector<std::string> columns = head_list(text, "columns");
  if (columns.empty()) columns.emplace_back("-");
  for (std::size_t i = 0; i < columns.size(); ++i)
    result.push_back(pattern_of(name, text, columns[i], i));
  const std::vector<std::string> symbols = head_list(text, "symbols");
  for (std::size_t i = 0; i < symbols.size(); ++i)
    result.push_back(symbolic_pattern_of(name, text, symbols[i], i));
  return result;
}

std::int64_t input_elements(const Pattern& pattern) {
  const Graph graph = pattern.graph();
  std::vector<NamedSize> named;
  for (const auto& [name, value] : pattern.sizes) named.push_back({name, value});
  const std::vector<std::int64_t> symbols = symbols_from_sizes(graph, named);
  std::int64_t elements = 0;
  for (const InputInfo& input : graph.data().inputs)
    elements += evaluate(product(input.node->shape), symbols);
  return elements;
}

std::map<std::string, Pattern> one_of_each_form(const std::filesystem::path& file) {
  constexpr std::int64_t kMostColumns = 5000;
  std::map<std::string, Pattern> by_form;
  for (Pattern& pattern : patterns_in(file)) {
    const std::string form = forms_of(plan_pattern(pattern));
    const auto known = by_form.find(form);
    const bool is_short = pattern.columns == "-" || std::stoll(pattern.columns) <= kMostColumns;
    if (known == by_form.end() || is_short ||
        input_elements(small_pattern(pattern)) < input_elements(small_pattern(known->second)))
      by_form.insert_or_assign(form, std::move(pattern));
  }
  return by_form;
}

std::vector<Pattern> patterns(const std::filesystem::path& folder) {
  std::vector<Pattern> result;
  for (const std::filesystem::path& file : golden_graphs(folder))
    for (Pattern& pattern : patterns_in(file)) result.push_back(std::move(pattern));
  return result;
}

}  // namespace sinter::test
