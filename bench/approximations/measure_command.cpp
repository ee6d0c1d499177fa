// Compares results with correctly rounded ones. The virtual GPU (tests/virtual_gpu) can then use
// the errors of a real GPU.
#include "bench/approximations/measure_command.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/approximations/error_statistics.h"
#include "bench/approximations/run_instruction.h"
#include "bench/suite/gpu_clocks.h"
#include "runtime/device/device_state.h"
#include "runtime/observe/device_times.h"
#include "runtime/support/parallel.h"
#include "sinter/error.h"

namespace sinter::approximations {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::vector<std::string> only;
  std::uint32_t stride = 1;
  std::string json;
};

std::string hex(std::uint32_t bits) { return fmt::format("0x{:08x}", bits); }

/// Zeros, subnormal numbers, ones, the largest numbers, infinities and a NaN.
std::vector<std::uint32_t> special_operands(Format format) {
  if (format == Format::f16) return {0, 0x8000, 1, 0x3c00, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7e00};
  if (format == Format::bf16) return {0, 0x8000, 1, 0x3f80, 0xbf80, 0x7f7f, 0x7f80, 0xff80, 0x7fc0};
  if (format == Format::f64_high_word)
    return {0,          0x80000000, 1,          0x3ff00000, 0xbff00000,
            0x7fefffff, 0x7ff00000, 0xfff00000, 0x7ff80000};
  return {0,          0x80000000, 1,          0x807fffff, 0x3f800000, 0xbf800000,
          0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000};
}

Json to_json(const ErrorStatistics& errors) {
  Json steps = Json::object();
  for (const auto& [distance, count] : errors.steps) steps[std::to_string(distance)] = count;
  Json json = {{"operands", errors.operands},
               {"max_ulp", errors.max_ulp},
               {"max_absolute", errors.max_absolute},
               {"max_relative", errors.max_relative},
               {"worst_operand", hex(errors.worst_operand)},
               {"worst_result", hex(errors.worst_result)},
               {"steps", steps},
               {"wrong_kinds", errors.wrong_kinds}};
  if (errors.wrong_kinds > 0) json["wrong_operand"] = hex(errors.wrong_operand);
  return json;
}

/// The errors in one range. Many threads compare, since the GPU is faster.
ErrorStatistics errors_in(const InstructionRunner& runner, const Instruction& instruction,
                          const Range& range, std::uint32_t stride) {
  constexpr std::size_t kChunk = 1 << 17;
  const std::vector<std::uint32_t> results =
      runner.run(range.first, stride, (range.count + stride - 1) / stride);
  std::vector<ErrorStatistics> parts((results.size() + kChunk - 1) / kChunk);
  std::vector<std::function<void()>> jobs;
  for (std::size_t i = 0; i < parts.size(); ++i)
    jobs.push_back([&, i] {
      const std::size_t begin = i * kChunk;
      parts[i] =
          errors_of(instruction, range.first + static_cast<std::uint32_t>(begin) * stride, stride,
                    std::span(results).subspan(begin, std::min(kChunk, results.size() - begin)));
    });
  run_parallel(jobs);
  ErrorStatistics all;
  for (const ErrorStatistics& part : parts) all.add(part);
  return all;
}

Json measure(const Device& device, const Instruction& instruction, std::uint32_t stride) {
  const InstructionRunner runner(device, instruction);
  ErrorStatistics all;
  Json ranges = Json::array();
  for (const Range& range : instruction.ranges) {
    const bool is_small = range.count <= 1 << 16;  // all numbers of 16 bits
    const ErrorStatistics errors =
        errors_in(runner, instruction, range, is_small ? std::min(stride, 16U) : stride);
    all.add(errors);
    Json one = {{"first_operand", hex(range.first)}};
    one.update(to_json(errors));
    ranges.push_back(std::move(one));
  }
  Json special = Json::object();
  for (const std::uint32_t operand : special_operands(instruction.format))
    special[hex(operand)] = hex(runner.run(operand, 1, 1).front());
  fmt::print("{:<22} {:>10} operands, at most {:.4f} ulp, {} not the nearest number{}\n",
             instruction.opcode, all.operands, all.max_ulp, all.operands - all.steps[0],
             all.wrong_kinds > 0
                 ? fmt::format(", {} NaN, infinite or of the wrong sign", all.wrong_kinds)
                 : "");
  std::fflush(stdout);
  Json json = to_json(all);
  json["special"] = special;
  if (ranges.size() > 1) json["ranges"] = ranges;
  return json;
}

bool is_chosen(const Instruction& instruction, const Arguments& arguments) {
  if (arguments.only.empty()) return true;
  for (const std::string& text : arguments.only)
    if (instruction.opcode.starts_with(text)) return true;
  return false;
}

int run(const Arguments& arguments) {
  const Device device = cuda_device();
  Json json = {
      {"schema", "sinter-approximations-1"},
      {"gpu", device.name()},
      {"arch", device.arch()},
      {"driver", suite::Nvml(device.ordinal()).driver_version()},
      {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::now()))},
      {"stride", arguments.stride}};
  if (is_virtual(device.name())) {
    json["virtual"] = true;
    fmt::print("{}: these are the errors of an interpreter, not of a GPU\n", device.name());
  }
  json["instructions"] = Json::array();
  bool is_complete = true;
  for (const Instruction& instruction : instructions()) {
    if (!is_chosen(instruction, arguments)) continue;
    Json one = {{"opcode", instruction.opcode}};
    if (instruction.dividend != 0) one["dividend"] = instruction.dividend;
    if (device.state()->target.compute_capability < instruction.least_capability) {
      one["missing"] = fmt::format("it needs sm_{}", instruction.least_capability);
      fmt::print("{:<22} missing: it needs sm_{}\n", instruction.opcode,
                 instruction.least_capability);
    } else {
      try {
        one.update(measure(device, instruction, arguments.stride));
      } catch (const Error& error) {
        one["failed"] = error.what();
        fmt::print("{:<22} failed: {}\n", instruction.opcode, error.what());
        is_complete = false;
      }
    }
    json["instructions"].push_back(std::move(one));
  }
  if (json["instructions"].empty())
    throw UserError(fmt::format("--only {}: no instruction begins with it; one is {}",
                                fmt::join(arguments.only, ","), instructions().front().opcode));
  if (!arguments.json.empty()) {
    std::ofstream file(arguments.json);
    file << json.dump(1) << '\n';
    file.close();
    if (!file) throw UserError(fmt::format("{} cannot be written", arguments.json));
  }
  return is_complete ? 0 : 1;
}

}  // namespace

void declare(CLI::App& app, std::function<int()>& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App& command = *app.add_subcommand(
      "approximations", "Measure the errors of approximate PTX instructions over all mantissas");
  command.add_option("--only", arguments->only, "Only opcodes that begin with one of these texts")
      ->type_name("TEXT")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--stride", arguments->stride,
                  "Only every so many operands; at least every 16th of 16 bits")
      ->check(CLI::Range(1U, 1U << 20))
      ->capture_default_str();
  command.add_option("--json", arguments->json, "Write the errors to this file")->type_name("FILE");
  command.footer("Example:\n  measure_gpu approximations --only ex2,lg2 --json errors.json");
  command.callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace sinter::approximations
