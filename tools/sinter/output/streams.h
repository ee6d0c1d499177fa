// Standard input, output and error, however the command was started.
#pragma once

#include <string_view>

namespace sinter::command {

/// What the caller closed of the three is opened so that reading or writing it fails. Else the next
/// file of ours would take its number, and get what we print.
void hold_standard_streams();

/// Puts `text` on standard error if that takes it.
void log_line(std::string_view text);

}  // namespace sinter::command
