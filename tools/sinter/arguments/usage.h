// What is wrong with how the command was called, in its own words.
#pragma once

#include <span>
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace sinter::command {

/// Throws UsageError where the first word, or the first after `cache`, is no command.
void check_command(const CLI::App& app, std::span<const char* const> words);

/// What to say of an error of parsing `words`, those after the program's name, and where to read
/// on.
std::string usage_text(const CLI::App& app, const CLI::ParseError& error,
                       std::span<const char* const> words);

}  // namespace sinter::command
