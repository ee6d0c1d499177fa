// Results as JSON, in the form that sinter and its peers share (bench/README.md).
#pragma once

#include <string>
#include <vector>

#include "bench/suite/measure_case.h"

namespace sinter::suite {

/// Where and when rows were measured.
struct Setting {
  std::string device;
  std::string arch;
  std::string driver;
  std::string date;
  std::string tier;
};

Setting setting_of(const Device& device, std::string tier);

/// `rows` as the JSON that bench/README.md describes.
std::string results_text(const Setting& setting, const std::vector<Row>& rows);
/// Replaces `file` by all rows so far, whole at every moment. Throws UserError where it cannot.
void write_results(const std::string& file, const Setting& setting, const std::vector<Row>& rows);

}  // namespace sinter::suite
