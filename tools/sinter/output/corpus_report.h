// What `sinter corpus` found out, as text or JSON.
#pragma once

#include "tools/sinter/files/corpus_file.h"

#include <span>
#include <string>
#include <vector>

namespace sinter::command {

/// One line without its end; names are filled up to `name_width`.
std::string line_of(const FileReport& report, std::size_t name_width);

/// The totals, each line with its end.
std::string totals_text(std::span<const FileReport> reports);

/// `{"files": […], "totals": {…}}`. What is not known is null.
std::string corpus_json(std::span<const FileReport> reports);

/// The totals alone and without times, as a baseline for later runs.
std::string corpus_totals_json(std::span<const FileReport> reports);

/// Where the totals are worse than those of `baseline`, in words; empty if nowhere. Figures of
/// stages that one of them leaves out are not compared.
std::vector<std::string> falls_behind(std::span<const FileReport> reports,
                                      const std::string& baseline);

}  // namespace sinter::command
