// Error messages for the command line.
#pragma once

#include <span>
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace sinter::command {

/// Throws UsageError if the first word, or the first word after `cache`, is not a command.
void check_command(const CLI::App& app, std::span<const char* const> words);

/// The message for a parse error of `words` (without the program's name), with a hint to the help.
std::string usage_text(const CLI::App& app, const CLI::ParseError& error,
                       std::span<const char* const> words);

}  // namespace sinter::command
