#include "tools/sinter/arguments/usage.h"

#include "ir/parser/text_errors.h"
#include "tools/sinter/arguments/arguments.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

namespace sinter::command {

namespace {

std::vector<std::string_view> names_of(std::span<const CLI::App* const> commands) {
  std::vector<std::string_view> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

/// `sinter cache ls`
std::string path_of(const CLI::App& command) {
  const std::string name = command.get_name();
  return command.get_parent() ? path_of(*command.get_parent()) + " " + name : name;
}

/// The innermost command on the command line.
const CLI::App& innermost_command(const CLI::App& app) {
  const std::vector<const CLI::App*> parsed =
      app.get_subcommands([](const CLI::App* command) { return command->parsed(); });
  return parsed.empty() ? app : innermost_command(*parsed.front());
}

/// `--stag` of `--stag=graph`; the whole word if it has no `=`.
std::string_view option_of(std::string_view word) { return word.substr(0, word.find('=')); }

/// Appends `word` to `text`: as a new sentence after a question, else after a semicolon.
std::string append_hint(std::string text, std::string_view word) {
  const bool is_question = text.ends_with('?');
  text += is_question ? " " : "; ";
  text += word;
  char& first = text[text.size() - word.size()];
  if (is_question) first = static_cast<char>(std::toupper(first));
  return text;
}

bool is_option_word(std::string_view word) { return word.size() > 1 && word.starts_with('-'); }

std::string unknown_option(const CLI::App& command, std::string_view option) {
  std::vector<std::string> names;
  for (const CLI::Option* known : command.get_options())
    for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
  return fmt::format("{} has no option {}{}", path_of(command), option,
                     suggestion(option, {names.begin(), names.end()}));
}

/// The message for unexpected words. It names the most likely mistake: an option if there is one.
std::string unexpected(const CLI::App& command, std::span<const char* const> words) {
  const std::vector<std::string> left = command.remaining();
  const auto is_left = [&](std::string_view word) { return std::ranges::count(left, word) > 0; };
  const auto dashes = std::ranges::find(words, std::string_view("--"));
  for (auto word = words.begin(); word != words.end(); ++word) {
    const std::string_view option = option_of(*word);
    if (!is_option_word(option) || option == "--" || !is_left(*word)) continue;
    if (word > dashes)
      return fmt::format("{} comes after --, which ends the options; put it before --", option);
    return unknown_option(command, option);
  }
  for (const std::string_view word : words)
    if (is_left(word)) return fmt::format("{} does not accept {}", path_of(command), word);
  return fmt::format("{} does not accept {}", path_of(command), fmt::join(left, ", "));
}

}  // namespace

void check_command(const CLI::App& app, std::span<const char* const> words) {
  const std::vector<const CLI::App*> commands =
      app.get_subcommands([](const CLI::App*) { return true; });
  if (commands.empty()) return;
  const std::string_view first = words.empty() ? "" : words[0];
  if (is_option_word(first)) return;
  const std::vector<std::string_view> names = names_of(commands);
  const auto found = std::ranges::find(names, first);
  if (found != names.end())
    return check_command(*commands[static_cast<std::size_t>(found - names.begin())],
                         words.subspan(1));
  const std::string path = path_of(app);
  const std::string what =
      first.empty() ? "a command is missing" : fmt::format("there is no command {}", first);
  throw UsageError(fmt::format(
      "{}{} commands {}are {}: see {} --help", what, append_hint(suggestion(first, names), "the"),
      app.get_parent() ? fmt::format("of {} ", path) : "", fmt::join(names, ", "), path));
}

std::string usage_text(const CLI::App& app, const CLI::ParseError& error,
                       std::span<const char* const> words) {
  const CLI::App& command = innermost_command(app);
  const bool is_unexpected = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const std::string what = is_unexpected ? unexpected(command, words) : error.what();
  return fmt::format("{} {} --help", append_hint(what, "see"), path_of(command));
}

}  // namespace sinter::command
