// The host device and the virtual GPU run all measurements, but their times are not constants of a
// GPU, and are not recorded.
#include "bench/constants/measure_command.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/constants/measure_constants.h"
#include "bench/suite/gpu_clocks.h"
#include "compiler/target/measured_constants.h"
#include "runtime/device/device_state.h"
#include "runtime/device/target_file.h"
#include "runtime/observe/device_times.h"
#include "sinter/error.h"

namespace sinter::constants {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string device = "cuda";
  std::string json;
  int repeats = 9;
};

/// The problem of a figure; empty if a target file may state it.
std::string problem_of(const Figure& figure) {
  if (!figure.problem.empty()) return figure.problem;
  const MeasuredConstant* const constant = find_measured_constant(figure.name);
  if (!constant || (figure.value >= constant->low && figure.value <= constant->high)) return {};
  return fmt::format("{:g} {} is outside of {:g} to {:g}", figure.value, constant->unit,
                     constant->low, constant->high);
}

Json results(const Device& device, const std::vector<Figure>& figures, bool has_times) {
  Json constants = Json::object(), assumed = Json::object(), others = Json::object(),
       problems = Json::object();
  for (const Figure& figure : figures) {
    const MeasuredConstant* const constant = find_measured_constant(figure.name);
    if (const std::string problem = problem_of(figure); has_times && !problem.empty())
      problems[figure.name] = problem;
    else if (has_times)
      (constant ? constants : others)[figure.name] = figure.value;
    if (constant) assumed[figure.name] = constant->get(device.state()->target);
  }
  Json json = {{"schema", kTargetFileSchema},
               {"gpu", device.name()},
               {"arch", device.arch()},
               {"driver", suite::Nvml(device.ordinal()).driver_version()},
               {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                                    fmt::gmtime(std::chrono::system_clock::now()))}};
  if (!has_times) json["virtual"] = true;
  json.update({{"constants", constants},
               {"assumed", assumed},
               {"others", others},
               {"not_measured", problems}});
  return json;
}

/// Prints the figures. Returns true if none has a problem.
bool print(const Device& device, const std::vector<Figure>& figures, bool has_times) {
  bool is_complete = true;
  for (const Figure& figure : figures) {
    const MeasuredConstant* const constant = find_measured_constant(figure.name);
    // Without times a value may be out of range, which is not a problem.
    const std::string problem = has_times ? problem_of(figure) : figure.problem;
    is_complete = is_complete && problem.empty();
    if (!problem.empty())
      fmt::print("{:<26} not measured: {}\n", figure.name, problem);
    else if (!has_times)
      fmt::print("{:<26} a rehearsal, not recorded\n", figure.name);
    else if (constant)
      fmt::print("{:<26} {:.4g} {} (assumed: {:.4g})\n", figure.name, figure.value, constant->unit,
                 constant->get(device.state()->target));
    else
      fmt::print("{:<26} {:.4g}\n", figure.name, figure.value);
  }
  return is_complete;
}

int run(const Arguments& arguments) {
  const Device device = arguments.device == "host" ? host_device() : cuda_device();
  const bool has_times =
      may_record_times(device.name(), "measure_gpu constants") && !device.is_host();
  const std::vector<Figure> figures = measure_constants(
      device, {.repeats = has_times ? arguments.repeats : 1, .is_short = !has_times});
  const bool is_complete = print(device, figures, has_times);
  if (!arguments.json.empty()) {
    std::ofstream file(arguments.json);
    file << results(device, figures, has_times).dump(1) << '\n';
    file.close();
    if (!file) throw UserError(fmt::format("{} cannot be written", arguments.json));
    if (has_times) fmt::print("SINTER_TARGET_FILE={} makes the planner use it\n", arguments.json);
  }
  return is_complete ? 0 : 1;
}

}  // namespace

void declare(CLI::App& app, std::function<int()>& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App& command = *app.add_subcommand(
      "constants", "Measure the constants that the planner assumes, for a target file");
  command.add_option("--device", arguments->device, "The device; the host device only rehearses")
      ->check(CLI::IsMember({"cuda", "host"}))
      ->capture_default_str();
  command.add_option("--json", arguments->json, "Write a target file")->type_name("FILE");
  command.add_option("--repeats", arguments->repeats, "Runs of each measurement")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.footer(
      "Example:\n  measure_gpu constants --json h200.json\n"
      "  SINTER_TARGET_FILE=h200.json sinter bench softmax.sinter");
  command.callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace sinter::constants
