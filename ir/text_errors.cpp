#include "ir/text_errors.h"

#include "sinter/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace sinter {

namespace {

/// How many letters must be put in, taken out, replaced or swapped with the next to make `b` of
/// `a`.
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

/// `line` from `begin`, at most `most` bytes, with blanks for what a terminal would not show.
std::string shown(std::string_view line, std::size_t begin, std::size_t most) {
  std::string result(line.substr(begin, most));
  for (char& c : result)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f)
      c = c == '\t' ? ' ' : '?';
  return result;
}

}  // namespace

void TextErrors::add(TextError error) {
  // That the text ends too early needs saying once, whoever notices it.
  const auto is_at_end = [&](const TextError& other) { return other.place.offset == text_.size(); };
  if (is_at_end(error) && std::ranges::any_of(errors_, is_at_end)) return;
  // Recovery may stop at the very token that was out of place.
  if (!errors_.empty() && errors_.back().place.offset == error.place.offset &&
      errors_.back().message.starts_with("expected ") && error.message.starts_with("expected "))
    return;
  if (!is_full()) errors_.push_back(std::move(error));
}

std::string TextErrors::excerpt(TextPlace place) const {
  constexpr std::size_t kBefore = 70;
  constexpr std::size_t kWidth = 100;
  const std::size_t column = static_cast<std::size_t>(place.column) - 1;
  const std::size_t line_begin = place.offset - column;
  const std::size_t line_end = std::min(text_.find('\n', place.offset), text_.size());
  std::string_view line = text_.substr(line_begin, line_end - line_begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t begin = column > kBefore ? column - kBefore : 0;
  return fmt::format("  {}\n  {:>{}}", shown(line, std::min(begin, line.size()), kWidth), '^',
                     column - begin + 1);
}

void TextErrors::throw_if_any() const {
  if (errors_.empty()) return;
  std::vector<const TextError*> sorted;
  for (const TextError& error : errors_) sorted.push_back(&error);
  std::ranges::stable_sort(sorted, {}, [](const TextError* error) { return error->place.offset; });
  std::string message;
  for (const TextError* error : sorted)
    message +=
        fmt::format("{}{}:{}:{}: {}\n{}", message.empty() ? "" : "\n", file_name_,
                    error->place.line, error->place.column, error->message, excerpt(error->place));
  if (is_full())
    message += fmt::format("\n{}: these are the first {} errors; the rest is left out", file_name_,
                           errors_.size());
  throw UserError(message);
}

std::string suggestion(std::string_view name, const std::vector<std::string_view>& candidates) {
  constexpr std::size_t kLongest = 40;
  if (name.size() > kLongest) return {};
  // A third of the letters may differ; beyond that the guess would be a riddle.
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
