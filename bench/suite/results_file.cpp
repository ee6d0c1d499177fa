// Converts rows to JSON and writes the results file.
#include "bench/suite/results_file.h"

#include <chrono>
#include <cstdio>
#include <fstream>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/device/device_state.h"
#include "runtime/observe/device_times.h"
#include "runtime/saved/saved_file.h"
#include "sinter/error.h"

namespace sinter::suite {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Quartiles& quartiles) {
  return {{"lower", quartiles.lower}, {"median", quartiles.median}, {"upper", quartiles.upper}};
}

/// A measured value, or null if it is 0, that is, not measured.
Json known(double number) { return number > 0 ? Json(number) : Json(); }
Json known(const Quartiles& quartiles) {
  return quartiles.median > 0 ? to_json(quartiles) : Json();
}

/// The row without its times: those of a virtual GPU mean nothing.
Row without_times(Row row) {
  row.call_us = row.copy_us = row.memcpy_us = row.read_us = {};
  row.asynchronous_us = 0;
  return row;
}

Json to_json(const Row& row) {
  const double median = row.call_us.median;
  const bool is_timed = row.status == "ok" && median > 0;
  return {{"case", row.name},
          {"group", row.group},
          {"system", row.system},
          {"mode", std::string(1, row.mode)},
          {"status", row.status},
          {"reason", row.reason.empty() ? Json() : Json(row.reason)},
          {"bytes", row.bytes},
          {"us", known(row.call_us)},
          {"asynchronous_us", known(row.asynchronous_us)},
          {"tb_per_s", is_timed ? Json(static_cast<double>(row.bytes) / median * 1e-6) : Json()},
          {"copy_us", known(row.copy_us)},
          {"memcpy_us", known(row.memcpy_us)},
          {"read_us", known(row.read_us)},
          {"of_read", is_timed ? known(row.read_us.median / median) : Json()},
          {"of_copy", is_timed ? known(fastest_copy_us(row) / median) : Json()},
          {"sets", row.sets},
          {"calls", row.calls},
          {"kernels", row.kernels},
          {"planned_bytes", row.planned_bytes},
          {"prepare_ms", row.prepare_ms},
          {"worst_error", row.result_check.worst},
          {"judged_elements", row.result_check.elements},
          {"sm_mhz", known(row.clocks.sm_mhz)},
          {"memory_mhz", known(row.clocks.memory_mhz)}};
}

}  // namespace

Setting setting_of(const Device& device, std::string tier) {
  const std::string driver = Nvml(device.ordinal()).driver_version();
  return {
      .device = std::string(device.name()),
      .arch = std::string(device.arch()),
      .driver = device.is_host() ? "" : driver,
      .date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::now())),
      .tier = std::move(tier),
      .is_virtual = is_virtual(device.name())};
}

std::string results_text(const Setting& setting, const std::vector<Row>& rows) {
  Json all = Json::array();
  for (const Row& row : rows) all.push_back(to_json(setting.is_virtual ? without_times(row) : row));
  Json results = {{"schema", "sinter-bench-1"},  {"system", "sinter"},
                  {"version", sinter_version()}, {"device", setting.device},
                  {"arch", setting.arch},        {"driver", setting.driver},
                  {"date", setting.date},        {"tier", setting.tier}};
  if (setting.is_virtual) results["virtual"] = true;
  results["rows"] = all;
  return results.dump(1) + '\n';
}

void write_results(const std::string& file, const Setting& setting, const std::vector<Row>& rows) {
  const std::string unfinished = file + ".part";
  std::ofstream stream(unfinished);
  stream << results_text(setting, rows);
  stream.close();
  if (!stream || std::rename(unfinished.c_str(), file.c_str()) != 0)
    throw UserError(fmt::format("{} cannot be written", file));
}

}  // namespace sinter::suite
