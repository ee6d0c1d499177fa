// Reads and writes text files at paths that the user gives.
#pragma once

#include <string>
#include <string_view>

namespace sinter::command {

/// The text of the file `path`, or of standard input for `-`. Throws UsageError with `name` and the
/// reason if it cannot be read.
std::string read_text_file(const std::string& path, const std::string& name);

/// Throws UserError with the reason if the file cannot be written.
void write_text_file(const std::string& path, std::string_view text);

/// Throws UserError if `path` is known not to be writable, before a long computation. Neither
/// creates nor changes a file.
void require_writable(const std::string& path);

}  // namespace sinter::command
