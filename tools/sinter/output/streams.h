// Standard input, output and error, even if the caller closed them.
#pragma once

#include <string_view>

namespace sinter::command {

/// Opens those of the three streams that the caller closed, so that using them fails. Otherwise the
/// next opened file would get their descriptor, and our output.
void reopen_closed_streams();

/// Writes `text` to standard error. Ignores failures.
void log_line(std::string_view text);

}  // namespace sinter::command
