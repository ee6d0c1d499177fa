// The table of options, for reading them from the environment and for their documentation.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sinter/options.h"

namespace sinter {

/// The programs in which an environment variable counts.
enum class OptionScope : bool {
  on_request,  ///< callers of options_from_environment
  always,      ///< all; the variable overrides code
};

/// One row of options.def as data.
struct OptionInfo {
  std::string_view name;      ///< `cache.mode`
  std::string_view variable;  ///< `SINTER_CACHE`; empty: none
  OptionScope scope = OptionScope::on_request;
  std::string_view values;   ///< `off|read_only|read_write`, or a description
  std::string default_text;  ///< `read_write`; empty: nothing
  std::string_view doc;
  /// Throws UserError on an invalid text.
  void (*set)(Options& options, std::string_view text) = nullptr;
};

/// The rows of options.def, in order.
std::span<const OptionInfo> option_table();
/// The table as Markdown.
std::string option_reference();

/// Applies the environment variables with scope `always` to `options`. Throws UserError on an
/// invalid value.
Options with_environment(Options options);

}  // namespace sinter
