// Measures the suite's kernels and copies of the same number of bytes. The chosen cases of
// bench/suite/suite.json run in three modes: K (a CUDA Graph of calls over cold data), L (calls in
// a stream) and E (one call at a time). The modes and result fields are in bench/README.md.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/suite/measure_all.h"
#include "bench/suite/measure_case.h"
#include "bench/suite/results_file.h"
#include "compiler/body/minimal_bytes.h"
#include "runtime/observe/device_times.h"
#include "sinter/error.h"

namespace sinter::suite {
namespace {

constexpr int kBroken = 4;

struct Arguments {
  std::string suite = SINTER_SOURCE_DIR "/bench/suite/suite.json";
  std::string device = "cuda";
  std::string tier = "quick";
  std::vector<std::string> only;
  std::string modes = "KLE";
  double seconds = 0;
  std::string after;
  std::string json;
  std::string oracle;
  bool list = false;
};

void declare(CLI::App& app, Arguments& arguments) {
  app.add_option("--suite", arguments.suite, "The suite file")->type_name("FILE")->take_last();
  app.add_option("--device", arguments.device, "The device to measure")
      ->check(CLI::IsMember({"cuda", "host"}))
      ->capture_default_str();
  app.add_option("--tier", arguments.tier, "The tier of the cases")
      ->check(CLI::IsMember({"tiny", "quick", "full", "sweep"}))
      ->capture_default_str();
  app.add_option("--only", arguments.only,
                 "Only cases with one of these texts in their name, or with this group")
      ->type_name("TEXT")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--modes", arguments.modes, "Some of K, L and E")->capture_default_str();
  app.add_option("--seconds", arguments.seconds,
                 "Starts no case after this many seconds; reports the cases left out")
      ->type_name("NUMBER")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--after", arguments.after,
                 "Starts after this case, to continue an interrupted run")
      ->type_name("CASE");
  app.add_option("--json", arguments.json,
                 "Writes the results to this file; - prints them and nothing else")
      ->type_name("FILE");
  app.add_flag("--list", arguments.list, "Measures nothing; lists the bytes that each case moves");
  app.add_option("--oracle", arguments.oracle,
                 "Measures nothing; writes the oracle's results for the tiny cases")
      ->type_name("FILE");
  app.footer(
      fmt::format("Example:\n  suite_bench --tier quick --only elementwise,softmax --json "
                  "sinter.json\nExit status: 0 "
                  "all results are right, 1 some are not, 2 usage, {} the device stopped working.",
                  kBroken));
}

bool is_chosen(const Case& one, const Arguments& arguments) {
  if (std::ranges::find(one.tiers, arguments.tier) == one.tiers.end()) return false;
  if (arguments.only.empty()) return true;
  return std::ranges::any_of(arguments.only, [&](const std::string& text) {
    return one.group == text || one.name.find(text) != std::string::npos;
  });
}

void print(std::FILE* out, const Row& row, bool has_times) {
  if (row.status != "ok") {
    fmt::print(out, "{:<44} {}: {}\n", row.name, row.status, row.reason);
  } else if (!has_times) {
    fmt::print(out, "{:<44} {} {:<13} a rehearsal, no time\n", row.name, row.mode, row.system);
  } else {
    const double median = row.call_us.median;
    fmt::print(out, "{:<44} {} {:<13} {:10.2f} us {:7.3f} TB/s {:6.3f} of a copy\n", row.name,
               row.mode, row.system, median, static_cast<double>(row.bytes) / median * 1e-6,
               fastest_copy_us(row) / median);
  }
  std::fflush(out);
}

void write_oracle(const std::vector<Case>& cases, const std::string& file) {
  nlohmann::ordered_json values;
  for (const Case& one : cases)
    if (one.tiers[0] == "tiny")
      for (const OracleSample& sample : oracle_samples(one.text, one.seed))
        values[one.name][sample.name] = sample.values;
  std::FILE* const out = std::fopen(file.c_str(), "w");
  if (!out) throw UserError(fmt::format("{} cannot be written", file));
  const char* before = "{\n";
  for (const auto& [name, results] : values.items()) {
    fmt::print(out, "{}\"{}\": {}", before, name, results.dump());
    before = ",\n";
  }
  fmt::print(out, "\n}}\n");
  std::fclose(out);
}

/// Prints the cases. Returns true if the bytes of each case are the minimum that its graph moves.
bool list(const std::vector<Case>& cases) {
  bool is_right = true;
  for (const Case& one : cases) {
    const std::int64_t fewest = minimal_bytes(parse(one.text).data(), {});
    fmt::print("{:<44} {:<14} {:>4} {:>14} bytes{}\n", one.name, one.group, one.modes, one.bytes,
               fewest == one.bytes ? "" : fmt::format(", but its graph moves at least {}", fewest));
    is_right = is_right && fewest == one.bytes;
  }
  return is_right;
}

/// Measures the cases. Returns the exit status.
int measure(const std::vector<Case>& cases, const Arguments& arguments) {
  const Device device = arguments.device == "host" ? host_device() : cuda_device();
  const bool has_times = may_record_times(device.name(), "suite_bench");
  MeasureSettings settings{.modes = arguments.modes};
  if (device.is_host() || arguments.tier == "tiny") {
    settings.repeats = 1;
    settings.is_short = true;
  }
  const Setting setting = setting_of(device, arguments.tier);
  const auto start = std::chrono::steady_clock::now();
  CaseRunner runner(device, settings);
  std::vector<Row> all;
  const bool prints_json = arguments.json == "-";
  const auto seconds_spent = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const auto report = [&](const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      print(prints_json ? stderr : stdout, row, has_times);
      all.push_back(row);
    }
    if (!arguments.json.empty() && !prints_json) write_results(arguments.json, setting, all);
  };
  const Outcome outcome = measure_all(cases, runner, arguments.seconds, seconds_spent, report);
  if (prints_json) fmt::print("{}", results_text(setting, all));
  return outcome == Outcome::right ? 0 : outcome == Outcome::broken ? kBroken : 1;
}

/// Drops the cases up to and including `after`. Throws UserError if `after` is not a chosen case.
void begin_after(std::vector<Case>& cases, const std::string& after) {
  const auto last = std::ranges::find(cases, after, &Case::name);
  if (last == cases.end())
    throw UserError(
        fmt::format("--after {}: it is not one of the {} chosen cases; --list shows them", after,
                    cases.size()));
  cases.erase(cases.begin(), last + 1);
}

int run(const Arguments& arguments) {
  const std::vector<Case> suite = read_suite(arguments.suite);
  if (!arguments.oracle.empty()) {
    write_oracle(suite, arguments.oracle);
    return 0;
  }
  std::vector<Case> cases;
  for (const Case& one : suite)
    if (is_chosen(one, arguments)) cases.push_back(one);
  if (!arguments.after.empty()) begin_after(cases, arguments.after);
  if (cases.empty()) {
    fmt::print(stderr, "suite_bench: no case of tier {} was chosen; --list shows the cases\n",
               arguments.tier);
    return 2;
  }
  if (arguments.list) return list(cases) ? 0 : 1;
  return measure(cases, arguments);
}

}  // namespace
}  // namespace sinter::suite

int main(int count, char** words) {
  sinter::suite::Arguments arguments;
  CLI::App app("Measures sinter's kernels, and copies of the same number of bytes", "suite_bench");
  sinter::suite::declare(app, arguments);
  try {
    app.parse(count, words);
    return sinter::suite::run(arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "suite_bench: {}\n", error.what());
    return 1;
  }
}
