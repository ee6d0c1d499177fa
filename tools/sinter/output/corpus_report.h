// The results of `sinter corpus`, as text or JSON.
#pragma once

#include "tools/sinter/files/corpus_file.h"

#include <span>
#include <string>
#include <vector>

namespace sinter::command {

/// One line without a newline. Names are padded to `name_width`.
std::string line_of(const FileReport& report, std::size_t name_width);

/// The totals; each line ends with a newline.
std::string totals_text(std::span<const FileReport> reports);

/// `{"files": […], "totals": {…}}`. Unknown figures are null.
std::string corpus_json(std::span<const FileReport> reports);

/// Only the totals, without times, as a baseline for later runs.
std::string corpus_totals_json(std::span<const FileReport> reports);

/// The totals that are worse than those of `baseline`, as text; empty if there are none. Figures of
/// stages that only one of the two ran are not compared.
std::vector<std::string> regressions(std::span<const FileReport> reports,
                                     const std::string& baseline);

}  // namespace sinter::command
