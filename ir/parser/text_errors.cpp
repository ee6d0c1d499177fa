// Collects mistakes in a text, quotes the lines they are in, and suggests similar names.
#include "ir/parser/text_errors.h"

#include "sinter/error.h"

#include <algorithm>

#include <fmt/format.h>
#include <llvm/Support/ConvertUTF.h>

namespace sinter {

namespace {

/// The smallest number of insertions, deletions, replacements and swaps of neighbors that change
/// `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> distance(a.size() + 1,
                                                 std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        distance[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      distance[i][j] = std::min({replaced, distance[i - 1][j] + 1, distance[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
    }
  return distance[a.size()][b.size()];
}

/// The length in bytes of the character at `i`; 0 if a terminal must not show it.
std::size_t printable_length(std::string_view line, std::size_t i) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(line[at]); };
  if (byte(i) < 0x80) return byte(i) >= 0x20 && byte(i) != 0x7f ? 1 : 0;
  const std::size_t bytes = byte(i) >= 0xf0 ? 4 : byte(i) >= 0xe0 ? 3 : 2;
  if (i + bytes > line.size()) return 0;
  const auto* const begin = reinterpret_cast<const llvm::UTF8*>(line.data()) + i;
  if (!llvm::isLegalUTF8Sequence(begin, begin + bytes)) return 0;
  if (byte(i) == 0xc2 && byte(i + 1) < 0xa0) return 0;  // control characters
  // Line separators and marks that change the text direction: U+2028 to U+202E.
  if (byte(i) == 0xe2 && byte(i + 1) == 0x80 && byte(i + 2) >= 0xa8 && byte(i + 2) <= 0xae)
    return 0;
  // Invisible marks: directional isolates and deprecated format characters, U+2066 to U+206F.
  if (byte(i) == 0xe2 && byte(i + 1) == 0x81 && byte(i + 2) >= 0xa6 && byte(i + 2) <= 0xaf)
    return 0;
  return bytes;
}

struct PrintableText {
  std::string text;
  std::size_t columns = 0;  ///< characters
};

/// `line` with '?' for every byte that a terminal must not show, and ' ' for a tab.
PrintableText make_printable(std::string_view line) {
  PrintableText result;
  for (std::size_t i = 0; i < line.size(); ++result.columns) {
    const std::size_t bytes = printable_length(line, i);
    if (bytes > 0)
      result.text += line.substr(i, bytes);
    else
      result.text += line[i] == '\t' ? ' ' : '?';
    i += std::max<std::size_t>(bytes, 1);
  }
  return result;
}

/// The start of the UTF-8 character that contains byte `i`.
std::size_t start_of_character(std::string_view line, std::size_t i) {
  std::size_t start = i;
  while (start > 0 && start < line.size() && i - start < 3 &&
         (static_cast<unsigned char>(line[start]) & 0xc0) == 0x80)
    --start;
  return start;
}

}  // namespace

void TextErrors::add(TextError error) {
  // Only the first mistake at the end of the text is kept.
  const auto is_at_end = [&](const TextError& other) {
    return other.position.offset == text_.size();
  };
  if (is_at_end(error) && std::ranges::any_of(errors_, is_at_end)) return;
  // Recovery may stop at the unexpected token itself, which must not be reported twice.
  if (!errors_.empty() && errors_.back().position.offset == error.position.offset &&
      errors_.back().message.starts_with("expected ") && error.message.starts_with("expected "))
    return;
  if (!is_full()) errors_.push_back(std::move(error));
}

std::string TextErrors::excerpt(TextPosition position) const {
  constexpr std::size_t kBefore = 70;
  constexpr std::size_t kWidth = 100;
  const std::size_t column = static_cast<std::size_t>(position.column) - 1;
  const std::size_t line_begin = position.offset - column;
  const std::size_t line_end = std::min(text_.find('\n', position.offset), text_.size());
  std::string_view line = text_.substr(line_begin, line_end - line_begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t at = std::min(column, line.size());
  const std::size_t begin = start_of_character(line, at > kBefore ? at - kBefore : 0);
  const std::size_t end = start_of_character(line, std::min(begin + kWidth, line.size()));
  const PrintableText before = make_printable(line.substr(begin, at - begin));
  const PrintableText after = make_printable(line.substr(at, std::max(end, at) - at));
  return fmt::format("  {}{}\n  {:>{}}", before.text, after.text, '^',
                     before.columns + column - at + 1);
}

void TextErrors::throw_if_any() {
  if (errors_.empty()) return;
  std::ranges::stable_sort(errors_, {},
                           [](const TextError& error) { return error.position.offset; });
  std::string message;
  for (const TextError& error : errors_)
    message += fmt::format("{}{}:{}:{}: {}\n{}", message.empty() ? "" : "\n", file_name_,
                           error.position.line, error.position.column, error.message,
                           excerpt(error.position));
  if (is_full())
    message += fmt::format("\n{}: these are the first {} errors; there may be more", file_name_,
                           errors_.size());
  throw UserError(message);
}

std::string suggestion(std::string_view name, const std::vector<std::string_view>& candidates) {
  constexpr std::size_t kLongest = 40;
  if (name.size() > kLongest) return {};
  // At most a third of the letters may differ; more distant names do not help.
  std::size_t best = std::max<std::size_t>(name.size() / 3, 1);
  std::vector<std::string_view> nearest;
  for (const std::string_view candidate : candidates) {
    const std::size_t longer = std::max(candidate.size(), name.size());
    const std::size_t shorter = std::min(candidate.size(), name.size());
    if (longer - shorter > best || candidate.size() > kLongest) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance > best || distance >= longer) continue;
    if (distance < best) nearest.clear();
    best = distance;
    if (nearest.size() < 3) nearest.push_back(candidate);
  }
  if (nearest.empty()) return {};
  std::ranges::sort(nearest);
  return fmt::format("; did you mean {}?", fmt::join(nearest, " or "));
}

}  // namespace sinter
