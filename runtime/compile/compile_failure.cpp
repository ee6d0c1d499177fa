#include "runtime/compile/compile_failure.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>

namespace sinter {
namespace {

constexpr std::size_t kMaxErrors = 8;
constexpr std::size_t kMaxLogBytes = 8000;

/// One error in a compiler's log.
struct CompilerMessage {
  std::string part;
  int line = 0;
  std::string text;
};

/// Reads "name:12:5", "name:12" or "name(12)".
std::optional<CompilerMessage> parse_location(std::string_view location) {
  const std::size_t open = location.find_first_of(":(");
  if (open == std::string_view::npos) return std::nullopt;
  CompilerMessage message{.part = std::string(location.substr(0, open))};
  const std::string_view number = location.substr(open + 1);
  const auto read = std::from_chars(number.data(), number.data() + number.size(), message.line);
  return read.ec == std::errc() ? std::optional(message) : std::nullopt;
}

/// Finds the errors in a log of GCC, Clang ("part:line:column: error: text") or NVRTC
/// ("part(line): error: text").
std::vector<CompilerMessage> find_errors(std::string_view log) {
  std::vector<CompilerMessage> errors;
  for (const std::string_view line : llvm::split(log, '\n')) {
    // This also matches "fatal error: …" and "catastrophic error: …".
    const std::size_t mark = line.find("error: ");
    if (mark == std::string_view::npos) continue;
    std::optional<CompilerMessage> error = parse_location(line.substr(0, mark));
    if (!error) continue;
    error->text = line.substr(mark + 7);
    errors.push_back(*error);
    if (errors.size() == kMaxErrors) break;
  }
  return errors;
}

/// The lines `lines` of `text` and their neighbours, with numbers: "  16 |   const float sum = …".
std::string numbered_lines(std::string_view text, std::span<const int> lines) {
  std::vector<std::string_view> all;
  for (const std::string_view line : llvm::split(text, '\n')) all.push_back(line);
  if (!all.empty() && all.back().empty()) all.pop_back();  // after the last newline
  std::set<int> shown;
  for (const int line : lines)
    for (int near = line - 1; near <= line + 1; ++near)
      if (near >= 1 && near <= static_cast<int>(all.size())) shown.insert(near);
  std::string result;
  int previous = 0;
  for (const int line : shown) {
    if (previous && line != previous + 1) result += "   …\n";
    result += fmt::format("{:4} | {}\n", line, all[static_cast<std::size_t>(line - 1)]);
    previous = line;
  }
  return result;
}

std::vector<int> lines_of(std::span<const CompilerMessage> errors, std::string_view part) {
  std::vector<int> lines;
  for (const CompilerMessage& error : errors)
    if (error.part == part) lines.push_back(error.line);
  return lines;
}

/// The name of the part to blame: the kernel of the first error in a kernel ("kernel softmax_1").
/// Without one, the prelude if the first error is there, else the first kernel.
std::string blamed_part(std::span<const SourcePart> parts,
                        std::span<const CompilerMessage> errors) {
  for (const CompilerMessage& error : errors)
    for (const SourcePart& part : parts.subspan(1))
      if (part.name == error.part) return fmt::format("kernel {}", part.name);
  if (!errors.empty() && errors[0].part == parts[0].name) return std::string(parts[0].name);
  return parts.size() > 1 ? fmt::format("kernel {}", parts[1].name) : "program";
}

constexpr std::string_view kCustom = "custom op ";

/// The lines of a custom op within the parts. They begin after its #line directive.
std::string_view custom_text(std::span<const SourcePart> parts, std::string_view name) {
  const std::string mark = fmt::format("#line 1 \"{}\"\n", name);
  for (const SourcePart& part : parts) {
    const std::size_t begin = part.text.find(mark);
    if (begin == std::string_view::npos) continue;
    const std::string_view rest = part.text.substr(begin + mark.size());
    return rest.substr(0, rest.find("\n}\n#line "));
  }
  return {};
}

/// The message for an error in a custom op.
std::string explain_custom(std::string_view compiler, std::string_view target,
                           std::span<const SourcePart> parts,
                           std::span<const CompilerMessage> errors, std::string_view log,
                           std::string_view foot) {
  const std::string& name = errors[0].part;
  std::string message =
      fmt::format("{}: {} does not compile{}\n{}", compiler, name, target,
                  numbered_lines(custom_text(parts, name), lines_of(errors, name)));
  for (const CompilerMessage& error : errors)
    message += fmt::format("error: {} ({}, line {})\n", error.text, error.part, error.line);
  message += fmt::format("log:\n{}\n{}", log.substr(0, kMaxLogBytes), foot);
  return message;
}

}  // namespace

bool has_custom_op(std::span<const SourcePart> parts) {
  const std::string mark = fmt::format("#line 1 \"{}", kCustom);
  return std::ranges::any_of(
      parts, [&](const SourcePart& part) { return part.text.find(mark) != part.text.npos; });
}

std::string explain_compile_failure(std::string_view compiler, std::string_view target,
                                    std::span<const SourcePart> parts, std::string_view log,
                                    std::string_view foot) {
  const std::vector<CompilerMessage> errors = find_errors(log);
  if (!errors.empty() && errors[0].part.starts_with(kCustom))
    return explain_custom(compiler, target, parts, errors, log, foot);
  std::string message = fmt::format(
      "{}: sinter could not compile its own {}{} (this is a bug in sinter, please report "
      "it)\n",
      compiler, blamed_part(parts, errors), target);
  for (const SourcePart& part : parts) {
    const std::vector<int> lines = lines_of(errors, part.name);
    if (lines.empty()) continue;
    message += fmt::format("in {}:\n{}", part.name, numbered_lines(part.text, lines));
  }
  for (const CompilerMessage& error : errors)
    message += fmt::format("error: {} (line {})\n", error.text, error.line);
  message += fmt::format("log:\n{}\n{}", log.substr(0, kMaxLogBytes), foot);
  return message;
}

}  // namespace sinter
