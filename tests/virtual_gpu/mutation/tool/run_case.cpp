#include "tests/virtual_gpu/mutation/tool/run_case.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "ir/oracle/check.h"
#include "ir/oracle/interpret.h"
#include "ir/oracle/random_inputs.h"
#include "ir/verify/symbol_sizes.h"
#include "runtime/device/device_state.h"
#include "runtime/driver/cuda_driver.h"
#include "sinter/error.h"
#include "tests/support/run/run.h"

namespace sinter::virtual_gpu::mutation {

namespace {

/// The virtual GPU of the architecture, planned for as the case says.
DeviceState& device_of(const Case& one) {
  const CudaDriver& cuda = cuda_driver();
  if (!cuda.driver) throw UserError("the mutation test needs the virtual GPU: " + cuda.reason);
  const int ordinal = one.capability == 90 ? 0 : 1;
  auto& device = *new DeviceState(*cuda.driver, ordinal);  // devices live as long as the process
  if (!device.name.starts_with("virtual GPU"))
    throw UserError("the mutation test needs the virtual GPU, but the driver offers " +
                    device.name);
  Target& target = device.target;
  for (const auto& [name, value] : one.chip) {
    if (name == "sm_count") {
      target.bandwidth *= static_cast<double>(value) / target.sm_count;
      target.sm_count = static_cast<int>(value);
    }
    if (name == "bandwidth" && one.capability == 90)
      target.bandwidth = 1e9 * static_cast<double>(value);
    if (name == "bytes_in_flight") target.bytes_in_flight = value;
  }
  return device;
}

void check_results(const Case& one, const Graph& graph, const HostArrays& inputs,
                   std::span<const std::int64_t> symbols, const HostArrays& results) {
  const Interpretation expected = interpret(graph, inputs, symbols);
  for (const auto* const values : {&expected.outputs, &expected.updates})
    for (const auto& [name, value] : *values) {
      const CheckResult result = check(value, results.at(name));
      if (!result.passes())
        throw UserError(fmt::format("{}: {}", one.name, describe(name, result)));
    }
}

bool has_candidate(const Report& report, int candidate) {
  return candidate < 0 ||
         std::ranges::any_of(report.kernels, [&](const KernelReport& kernel) {
           return candidate < static_cast<int>(kernel.candidates.size());
         });
}

Examined parse_line(const std::string& line) {
  std::istringstream fields(line);
  Examined result;
  std::string number;
  std::string at;
  std::getline(fields, result.kernel, '\t');
  std::getline(fields, number, '\t');
  std::getline(fields, result.kind, '\t');
  std::getline(fields, at, '\t');
  std::getline(fields, result.outcome, '\t');
  std::getline(fields, result.schedule, '\t');
  std::getline(fields, result.message);
  result.number = std::stoi(number);
  result.line = std::stoi(at);
  return result;
}

}  // namespace

std::vector<Examined> run_case(const Case& one, const std::string& file) {
  const auto begin = std::filesystem::exists(file) ? std::filesystem::file_size(file) : 0;
  const Graph graph = parse(one.text, one.name);
  std::vector<NamedSize> sizes;
  for (const auto& [symbol, value] : one.sizes) sizes.push_back({symbol, value});
  const std::vector<std::int64_t> symbols = symbols_from_sizes(graph, sizes);
  const HostArrays inputs = random_inputs(graph, symbols, /*seed=*/1);
  Options options{.tune = Tune::off, .ptx = true, .force_candidate = one.candidate};
  const Executable executable = compile(graph, Device(&device_of(one)), options);
  std::vector<Size> named;
  for (const auto& [symbol, value] : one.sizes) named.push_back({symbol, value});
  executable.prepare(named, Views::written);
  if (!has_candidate(executable.report(), one.candidate)) return {};
  const auto run = [&](int runs) {
    return test::run_executable(executable, graph, inputs,
                                {.symbols = symbols, .options = options, .runs = runs});
  };
  check_results(one, graph, inputs, symbols, run(1));
  run(2);
  std::ifstream lines(file);
  lines.seekg(static_cast<std::streamoff>(begin));
  std::vector<Examined> examined;
  for (std::string line; std::getline(lines, line);) {
    examined.push_back(parse_line(line));
    if (examined.back().number == 0)
      throw UserError(fmt::format("{}: the unchanged kernel {} fails, schedule {}: {}", one.name,
                                  examined.back().kernel, examined.back().schedule,
                                  examined.back().message));
  }
  return examined;
}

}  // namespace sinter::virtual_gpu::mutation
