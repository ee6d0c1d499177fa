// Writes results as JSON, in the format that sinter and its peers share (bench/README.md).
#pragma once

#include <string>
#include <vector>

#include "bench/suite/measure_case.h"

namespace sinter::suite {

/// The device, date and tier of a set of rows.
struct Setting {
  std::string device;
  std::string arch;
  std::string driver;
  std::string date;
  std::string tier;
  bool is_virtual = false;  ///< a rehearsal on the virtual GPU: the rows have no times
};

Setting setting_of(const Device& device, std::string tier);

/// `rows` as the JSON that bench/README.md describes.
std::string results_text(const Setting& setting, const std::vector<Row>& rows);
/// Replaces `file` atomically with all rows so far. Throws UserError if it cannot be written.
void write_results(const std::string& file, const Setting& setting, const std::vector<Row>& rows);

}  // namespace sinter::suite
