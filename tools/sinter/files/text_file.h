// The files that commands write where their user says.
#pragma once

#include <string>
#include <string_view>

namespace sinter::command {

/// Throws UserError where it cannot be written, with the reason.
void write_text_file(const std::string& path, std::string_view text);

/// Throws the same, if that is known before the text is: what takes long asks first. An existing
/// file keeps its text; none is made.
void require_writable(const std::string& path);

}  // namespace sinter::command
