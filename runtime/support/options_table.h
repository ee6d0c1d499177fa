// The table of options: what reads them from the environment, and what their documentation is made
// from.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sinter/options.h"

namespace sinter {

/// Who hears an environment variable.
enum class OptionScope : bool {
  asked,   ///< callers of options_from_environment
  always,  ///< everybody; it counts more than what is set in code
};

/// One row of options.def as data.
struct OptionInfo {
  std::string_view name;      ///< `cache.mode`
  std::string_view variable;  ///< `SINTER_CACHE`; empty: none
  OptionScope heed = OptionScope::asked;
  std::string_view values;   ///< `off|read_only|read_write`, or what they are in words
  std::string default_text;  ///< `read_write`; empty: nothing
  std::string_view doc;
  /// Throws UserError on a text that means nothing.
  void (*set)(Options& options, std::string_view text) = nullptr;
};

/// In the order of the rows.
std::span<const OptionInfo> option_table();
/// The table as Markdown.
std::string option_reference();

/// `options` changed by the variables that count for everybody, where they are set. Throws
/// UserError on a value that means nothing.
Options with_environment(Options options);

}  // namespace sinter
