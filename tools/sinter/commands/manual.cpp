#include "tools/sinter/commands/manual.h"

#include "runtime/support/options_table.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

namespace sinter::command {

namespace {

/// As text of a man page: lines must not begin with what is a request there.
std::string roff(std::string_view text) {
  std::string result;
  bool is_at_begin = true;
  for (const char c : text) {
    if (is_at_begin && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
    is_at_begin = c == '\n';
  }
  return result;
}

std::string words_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  if (names.empty()) return option.get_name();
  const std::string type = option.get_expected_max() > 0 ? option.get_type_name() : "";
  return fmt::format("{}{}{}", fmt::join(names, ", "), type.empty() ? "" : " ", type);
}

std::string paragraph(std::string_view tag, std::string_view text) {
  return fmt::format(".TP\n.B {}\n{}\n", roff(tag), roff(text));
}

std::string options_of(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    std::string what = option->get_description();
    if (!option->get_default_str().empty())
      what += fmt::format(" (default: {})", option->get_default_str());
    text += paragraph(words_of(*option), what);
  }
  return text;
}

/// `Example:` and the lines below it, as they are.
std::string example_of(const CLI::App& command) {
  const std::string footer = command.get_footer();
  return footer.empty() ? "" : fmt::format(".PP\n.nf\n{}\n.fi\n", roff(footer));
}

std::string commands_of(const CLI::App& app, const std::string& before) {
  std::string text;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    const std::string name = before + " " + command->get_name();
    text += fmt::format(".SS {}\n{}.\n{}{}", roff(name), roff(command->get_description()),
                        options_of(*command), example_of(*command));
    text += commands_of(*command, name);
  }
  return text;
}

std::string environment() {
  constexpr const char* kOthers[][2] = {
      {"SINTER_CACHE_DIR=a folder",
       "Where the disk cache lies; none: sinter in XDG_CACHE_HOME or ~/.cache."},
      {"SINTER_HOST_CXX=a C++ compiler",
       "What compiles kernels for the host device; none: c++, g++ or clang++."},
      {"SINTER_NVRTC=a file",
       "The library that compiles kernels for GPUs, libnvrtc.so; none: that of the loader, else of "
       "the CUDA toolkit."}};
  std::string text;
  for (const auto& [variable, doc] : kOthers) text += paragraph(variable, doc);
  for (const OptionInfo& option : option_table())
    if (!option.variable.empty())
      text += paragraph(fmt::format("{}={}", option.variable, option.values), option.doc);
  return text;
}

std::string manual(const CLI::App& app) {
  return fmt::format(
      ".\\\" Written by sinter manual.\n"
      ".TH SINTER 1 \"\" \"sinter {}\" \"User Commands\"\n"
      ".SH NAME\nsinter \\- fused GPU kernels from graphs in text form\n"
      ".SH SYNOPSIS\n.B sinter\n.I COMMAND\n[OPTIONS]\n"
      ".SH COMMANDS\n{}"
      ".SH EXIT STATUS\n{}{}{}"
      ".SH ENVIRONMENT\n{}",
      roff(SINTER_VERSION), commands_of(app, "sinter"), paragraph("0", "It worked."),
      paragraph("1",
                "The work failed: a graph with mistakes, a kernel that does not compile, a result "
                "beyond its bounds, output that cannot be written."),
      paragraph("2", "It was called the wrong way."), environment());
}

}  // namespace

void declare_manual(CLI::App& app, Command& chosen) {
  CLI::App& command = *app.add_subcommand("manual", "Print the man page");
  command.footer("Example:\n  sinter manual > sinter.1 && man ./sinter.1");
  command.final_callback([&app, &chosen] {
    chosen = [text = manual(app)] {
      fmt::print("{}", text);
      return true;
    };
  });
}

}  // namespace sinter::command
