#include "tests/virtual_gpu/mutation/tool/case_run.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include <sys/wait.h>
#include <unistd.h>

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

void set_variables(const Case& one, const std::string& file) {
  const std::string device = fmt::format("sm_{} sms={} l2=64k", one.capability, one.sm_count);
  setenv("VIRTUAL_GPUS", device.c_str(), 1);
  setenv("VIRTUAL_GPU_EARLY_STARTS", "on", 1);
  setenv("VIRTUAL_GPU_EXAMINE", file.c_str(), 1);
}

/// The virtual GPU, planned for as the case says.
DeviceState& device_of(const Case& one) {
  const CudaDriver& cuda = cuda_driver();
  if (!cuda.driver) throw UserError("the mutation test needs the virtual GPU: " + cuda.reason);
  auto& device = *new DeviceState(*cuda.driver, 0);  // devices live as long as the process
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
  return candidate < 0 || std::ranges::any_of(report.kernels, [&](const KernelReport& kernel) {
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

void run_case(const Case& one) {
  const Graph graph = parse(one.text, one.name);
  std::vector<NamedSize> sizes;
  std::vector<Size> named;
  for (const auto& [symbol, value] : one.sizes) {
    sizes.push_back({symbol, value});
    named.push_back({symbol, value});
  }
  const std::vector<std::int64_t> symbols = symbols_from_sizes(graph, sizes);
  const HostArrays inputs = random_inputs(graph, symbols, /*seed=*/1);
  const Options options{.tune = Tune::off, .ptx = true, .force_candidate = one.candidate};
  const Executable executable = compile(graph, Device(&device_of(one)), options);
  executable.prepare(named, Views::written);
  if (!has_candidate(executable.report(), one.candidate)) return;
  const auto run = [&](int runs) {
    return test::run_executable(executable, graph, inputs,
                                {.symbols = symbols, .options = options, .runs = runs});
  };
  check_results(one, graph, inputs, symbols, run(1));
  run(2);
}

constexpr const char* kProblem = ".problem";

}  // namespace

CaseRun::CaseRun(const Case& one) : name_(one.name) {
  static int count = 0;
  file_ = std::filesystem::temp_directory_path() /
          fmt::format("virtual_gpu_mutations.{}.{}", getpid(), ++count);
  process_ = fork();
  if (process_ < 0) throw UserError("the mutation test cannot create a process");
  if (process_ > 0) return;
  int status = 0;
  try {
    set_variables(one, file_);
    run_case(one);
  } catch (const std::exception& error) {
    std::ofstream(file_ + kProblem) << error.what();
    status = 1;
  }
  _exit(status);
}

CaseRun::~CaseRun() {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
  std::filesystem::remove(file_ + kProblem, ignored);
}

std::vector<Examined> CaseRun::outcomes() const {
  // Functions that several kernels call are examined with each of them.
  std::map<std::pair<std::string, int>, Examined> best;
  std::ifstream lines(file_);
  for (std::string line; std::getline(lines, line);) {
    const Examined one = parse_line(line);
    if (one.number == 0)
      throw UserError(fmt::format("{}: the unchanged kernel {} fails, schedule {}: {}", name_,
                                  one.kernel, one.schedule, one.message));
    Examined& known = best[{one.kernel, one.number}];
    if (known.number == 0 || known.outcome == "nothing") known = one;
  }
  std::ifstream problem(file_ + kProblem);
  for (std::string text; std::getline(problem, text);)
    throw UserError(fmt::format("{}: {}", name_, text));
  std::vector<Examined> outcomes;
  for (const auto& [key, one] : best) outcomes.push_back(one);
  return outcomes;
}

void run_cases(const std::vector<Case>& cases, int jobs,
               const std::function<void(const Case&, const std::vector<Examined>&,
                                        const std::string& problem)>& done) {
  std::map<int, std::pair<const Case*, std::unique_ptr<CaseRun>>> running;
  const auto finish_one = [&] {
    int status = 0;
    const auto ended = running.find(waitpid(-1, &status, 0));
    if (ended == running.end()) return;
    const auto [one, run] = std::move(ended->second);
    running.erase(ended);
    try {
      const std::vector<Examined> outcomes = run->outcomes();
      done(*one, outcomes, status == 0 ? "" : fmt::format("it ends with status {:#x}", status));
    } catch (const std::exception& error) {
      done(*one, {}, error.what());
    }
  };
  for (const Case& one : cases) {
    if (static_cast<int>(running.size()) == jobs) finish_one();
    auto run = std::make_unique<CaseRun>(one);
    const int process = run->process();
    running[process] = {&one, std::move(run)};
  }
  while (!running.empty()) finish_one();
}

}  // namespace sinter::virtual_gpu::mutation
