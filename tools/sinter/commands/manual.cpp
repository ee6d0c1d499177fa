// `sinter manual`: prints the man page, made from the command declarations and the option table.
#include "runtime/support/options_table.h"
#include "tools/sinter/commands/command.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

namespace sinter::command {

namespace {

/// Escapes `text` for a man page. A line must not begin like a roff request.
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

/// `Example:` and the lines below it, without filling.
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
       "Folder of the disk cache; default: sinter in XDG_CACHE_HOME or ~/.cache."},
      {"SINTER_HOST_CXX=a C++ compiler",
       "Compiler of kernels for the host device; default: c++, g++ or clang++."},
      {"SINTER_NVRTC=a file",
       "Path of libnvrtc.so, which compiles kernels for GPUs; default: the library that the loader "
       "finds, else that of the CUDA toolkit."},
      {"SINTER_HOST_BLAS=openblas|onednn|loops|a file",
       "Library that multiplies matrices on the host device; default: OpenBLAS, else oneDNN, else "
       "loops. A file has the functions of CBLAS or oneDNN."},
      {"SINTER_HOST_CONV=onednn|products|a file",
       "Library that computes convolutions of f32 on the host device; default: oneDNN, else "
       "products of SINTER_HOST_BLAS. A file is a oneDNN of version 2 or 3."},
      {"SINTER_CUBLASLT=a file",
       "Path of libcublasLt.so, which multiplies matrices on GPUs; default: as for SINTER_NVRTC."},
      {"SINTER_CUDNN=a file",
       "Path of libcudnn.so, which computes convolutions on GPUs; default: as for SINTER_NVRTC."},
      {"SINTER_NCCL=a file",
       "Path of libnccl.so.2, which carries collectives between GPUs; default: as for "
       "SINTER_NVRTC."}};
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
      roff(SINTER_VERSION), commands_of(app, "sinter"), paragraph("0", "Success."),
      paragraph("1",
                "Failure: an invalid graph, a kernel that does not compile, a result outside its "
                "error bounds, or output that cannot be written."),
      paragraph("2", "Usage error."), environment());
}

}  // namespace

void declare_manual(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("manual", "Print the man page");
  command.footer("Example:\n  sinter manual > sinter.1 && man ./sinter.1");
  command.final_callback([&app, &action] {
    action = [text = manual(app)] {
      fmt::print("{}", text);
      return true;
    };
  });
}

}  // namespace sinter::command
