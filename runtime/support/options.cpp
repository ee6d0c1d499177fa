#include "sinter/options.h"

#include <fmt/format.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <type_traits>
#include <vector>

#include "runtime/support/environment.h"
#include "runtime/support/options_table.h"
#include "sinter/error.h"

namespace sinter {

namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, separator, /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  return {parts.begin(), parts.end()};
}

/// `off, quick or wide`
std::string values_text(std::string_view values) {
  const std::vector<std::string> words = split(values, '|');
  std::string text = words.front();
  for (std::size_t i = 1; i < words.size(); ++i)
    text += (i + 1 < words.size() ? ", " : " or ") + words[i];
  return text;
}

bool has_words(std::string_view values) { return values.find('|') != std::string_view::npos; }

template <class T>
concept Word = std::is_enum_v<T> || std::is_integral_v<T>;

template <Word T>
bool read_option(std::string_view text, std::string_view values, T& value) {
  if (has_words(values)) {
    const std::vector<std::string> words = split(values, '|');
    const auto found = std::ranges::find(words, text);
    if (found == words.end()) return false;
    value = static_cast<T>(found - words.begin());
    return true;
  }
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    return error == std::errc{} && stop == end && value >= 0;
  }
  return false;
}

bool read_option(std::string_view text, std::string_view, std::string& value) {
  value = text;
  return true;
}

bool read_option(std::string_view text, std::string_view, std::vector<std::string>& value) {
  value = split(text, ',');
  return true;
}

bool read_option(std::string_view, std::string_view, decltype(Options::log)&) { return false; }

template <Word T>
std::string option_text(std::string_view values, const T& value) {
  if (has_words(values)) return split(values, '|')[static_cast<std::size_t>(value)];
  return fmt::format("{}", static_cast<std::int64_t>(value));
}
std::string option_text(std::string_view, const std::string& value) { return value; }
std::string option_text(std::string_view, const std::vector<std::string>& value) {
  return fmt::format("{}", fmt::join(value, ","));
}
std::string option_text(std::string_view, const decltype(Options::log)&) { return ""; }

Options from_environment(Options options, bool is_requested) {
  for (const OptionInfo& option : option_table()) {
    if (option.variable.empty() || (option.scope == OptionScope::on_request && !is_requested))
      continue;
    const std::string text = environment_variable(std::string(option.variable).c_str());
    if (!text.empty()) option.set(options, text);
  }
  return options;
}

}  // namespace

std::span<const OptionInfo> option_table() {
  // Never destroyed: a thread may still use it while the process ends.
  static const auto& table = *[] {
    const Options defaults;
    return new std::vector<OptionInfo>{
#define OPTION(FIELD, VARIABLE, SCOPE, VALUES, DOC)                                             \
  {.name = #FIELD,                                                                              \
   .variable = VARIABLE,                                                                        \
   .scope = OptionScope::SCOPE,                                                                 \
   .values = VALUES,                                                                            \
   .default_text = option_text(VALUES, defaults.FIELD),                                         \
   .doc = DOC,                                                                                  \
   .set = [](Options& options, std::string_view text) {                                         \
     if (!read_option(text, VALUES, options.FIELD))                                             \
       throw UserError(fmt::format("{}={}: expected {}", VARIABLE, text, values_text(VALUES))); \
   }},
#include "runtime/support/options.def"
    };
  }();
  return table;
}

std::string option_reference() {
  std::string text =
      "| option | values | default | variable | what |\n"
      "|---|---|---|---|---|\n";
  const auto code = [](std::string_view words) {
    return words.empty() ? std::string() : fmt::format("`{}`", words);
  };
  for (const OptionInfo& option : option_table()) {
    const std::string values =
        has_words(option.values) ? fmt::format("`{}`", fmt::join(split(option.values, '|'), "`, `"))
                                 : std::string(option.values);
    std::string variable = code(option.variable);
    if (!variable.empty() && option.scope == OptionScope::always) variable += ", always";
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", option.name, values,
                        code(option.default_text), variable, option.doc);
  }
  return text;
}

Options options_from_environment(Options options) {
  return from_environment(std::move(options), /*is_requested=*/true);
}

Options with_environment(Options options) {
  return from_environment(std::move(options), /*is_requested=*/false);
}

}  // namespace sinter
