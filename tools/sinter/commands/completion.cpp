// `sinter completion`: prints shell completion scripts, made from the command declarations.
#include "tools/sinter/arguments/options.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::command {

namespace {

constexpr const char* kShells[] = {"bash", "zsh", "fish"};

/// A word that may follow `path`, with its description.
struct Completion {
  std::string path;  ///< ` cache prune`
  std::string word;  ///< `prune`, `--bytes`
  std::string what;
};

void collect_words(const CLI::App& app, const std::string& path, std::vector<Completion>& words) {
  for (const CLI::App* part : app.get_subcommands(nullptr)) {
    words.push_back({path, part->get_name(), part->get_description()});
    collect_words(*part, path + " " + part->get_name(), words);
  }
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames())
      words.push_back({path, "--" + name, option->get_description()});
}

/// `text` for single quotes in any of the shells. Drops special characters, since only fish has
/// backslashes there.
std::string in_quotes(std::string_view text) {
  std::string result;
  for (const char c : text)
    if (c != '\'' && c != '\\' && c != '[' && c != ']' && c != ':') result += c;
  return result;
}

/// One `case` branch per path with its words, for shells that have `case`.
std::string cases(const std::vector<Completion>& words) {
  std::vector<std::string> paths;
  for (const Completion& completion : words)
    if (std::ranges::find(paths, completion.path) == paths.end()) paths.push_back(completion.path);
  std::string text;
  for (const std::string& path : paths) {
    std::vector<std::string> of_path;
    for (const Completion& completion : words)
      if (completion.path == path) of_path.push_back(completion.word);
    text += fmt::format("    '{}') found='{}' ;;\n", path, fmt::join(of_path, " "));
  }
  return text;
}

/// Sets `at` to the commands among the words before the completed one. (`path` and `words` are
/// special variables in zsh.)
constexpr const char* kFindPath = R"(  local at='' word found=''
  for word in "${before[@]}"; do
    case "$word" in [a-z]*) case "$known" in *":$at $word,"*) at="$at $word" ;; esac ;; esac
  done
  case "$at" in
)";

/// All paths, each with delimiters at both ends.
std::string known_paths(const std::vector<Completion>& words) {
  std::string known;
  for (const Completion& completion : words)
    if (!completion.word.starts_with("-"))
      known += ":" + completion.path + " " + completion.word + ",";
  return known;
}

std::string bash_completion(const std::vector<Completion>& words) {
  return fmt::format(R"(# bash completion of sinter
_sinter() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}"
  local before=("${{COMP_WORDS[@]:1:COMP_CWORD-1}}")
  local known='{}'
{}{}  esac
  COMPREPLY=($(compgen -W "$found" -- "$current"))
}}
complete -o default -F _sinter sinter
)",
                     known_paths(words), kFindPath, cases(words));
}

std::string zsh_completion(const std::vector<Completion>& words) {
  return fmt::format(R"(#compdef sinter
_sinter_words() {{
  local -a before
  before=("${{(@)words[2,CURRENT-1]}}")
  local known='{}'
{}{}  esac
  compadd -- ${{=found}}
  _files
}}
# If autoloaded by name, it completes at once; if sourced, it only registers itself.
if [ "${{funcstack[1]}}" = _sinter ]; then _sinter_words; else compdef _sinter_words sinter; fi
)",
                     known_paths(words), kFindPath, cases(words));
}

std::string fish_completion(const std::vector<Completion>& words) {
  std::string text = "# fish completion of sinter\n";
  for (const auto& [path, word, what] : words) {
    std::string condition = path.empty() ? "__fish_use_subcommand" : "true";
    std::string_view rest = path;
    while (!rest.empty()) {
      rest.remove_prefix(1);
      const std::string_view part = rest.substr(0, rest.find(' '));
      condition += fmt::format("; and __fish_seen_subcommand_from {}", part);
      rest.remove_prefix(part.size());
    }
    const bool is_option = word.starts_with("--");
    text +=
        fmt::format("complete -c sinter -n '{}' {} {} -d '{}'\n", condition,
                    is_option ? "-l" : "-a", is_option ? word.substr(2) : word, in_quotes(what));
  }
  return text;
}

}  // namespace

void declare_completion(CLI::App& app, Action& action) {
  auto shell = std::make_shared<std::string>();
  CLI::App& command = *app.add_subcommand("completion", "Print a shell completion script");
  command.add_option("SHELL", *shell, "bash, zsh or fish")
      ->type_name("")
      ->required()
      ->check(one_of(kShells));
  command.footer("Example:\n  sinter completion bash > sinter.bash && source sinter.bash");
  command.final_callback([shell, &app, &action] {
    std::vector<Completion> words;
    collect_words(app, "", words);
    const auto write = *shell == "bash"  ? bash_completion
                       : *shell == "zsh" ? zsh_completion
                                         : fish_completion;
    action = [text = write(words)] {
      fmt::print("{}", text);
      return true;
    };
  });
}

}  // namespace sinter::command
