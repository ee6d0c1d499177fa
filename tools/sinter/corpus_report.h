// What `sinter corpus` found out, as text or JSON.
#pragma once

#include "tools/sinter/corpus_file.h"

#include <span>
#include <string>

namespace sinter::command {

/// One line without its end; names are filled up to `name_width`.
std::string line_of(const FileReport& report, std::size_t name_width);

/// The totals, each line with its end.
std::string totals_text(std::span<const FileReport> reports);

/// `{"files": […], "totals": {…}}`. What is not known is null.
std::string corpus_json(std::span<const FileReport> reports);

}  // namespace sinter::command
