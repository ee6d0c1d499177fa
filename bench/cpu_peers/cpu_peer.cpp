// sinter's host device as a worker of bench/cpu_peers. It reads a command per line, as JSON, and
// answers each with a line. worker.py has the commands.
// Usage: cpu_peer SUITE.json THREADS [wide], with Rounding::wide in the last case.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/suite/case_data.h"
#include "bench/suite/suite_file.h"
#include "ir/support/elapsed.h"
#include "runtime/driver/host/host_driver.h"
#include "runtime/saved/saved_file.h"
#include "sinter/sinter.h"

namespace sinter::suite {
namespace {

using Json = nlohmann::json;

/// A compiled case with one set of arrays.
struct Prepared {
  Prepared(const Case& measured, const Stream& stream, const Options& options)
      : graph(parse(measured.text)),
        program(compile(graph, stream.device(), options)),
        context(program.context()),
        data(graph, measured, 1, stream),
        bindings(data.bind(context)[0]) {}

  Graph graph;
  Executable program;
  Context context;
  CaseData data;
  Bindings bindings;
};

class Worker {
 public:
  Worker(const std::string& suite, Rounding rounding)
      : cases_(read_suite(suite)), device_(host_device()), stream_(device_.stream()) {
    options_.rounding = rounding;
  }

  Json answer(const Json& command) {
    try {
      const std::string what = command.at("do");
      if (what == "prepare") return prepare(command.at("case"));
      if (what == "results") return results(command.at("folder"));
      if (what == "time") return time(command.at("calls"));
      prepared_.reset();
      device_.trim();
      return Json::object();
    } catch (const std::exception& error) {
      return {{"status", "failed"}, {"reason", error.what()}};
    }
  }

 private:
  Json prepare(const std::string& name) {
    const auto measured =
        std::ranges::find_if(cases_, [&](const Case& one) { return one.name == name; });
    if (measured == cases_.end())
      throw UserError(fmt::format("the suite has no case {}; its cases begin with {}", name,
                                  cases_.empty() ? "none" : cases_[0].name));
    prepared_.reset();
    const auto start = std::chrono::steady_clock::now();
    prepared_ = std::make_unique<Prepared>(*measured, stream_, options_);
    return {{"prepare_ms", milliseconds_since(start)}};
  }

  void run() {
    prepared_->context.run(stream_, prepared_->bindings);
    stream_.synchronize();
  }

  Json results(const std::string& folder) {
    run();
    for (const NamedArray& one : prepared_->data.arrays(0)) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(one.array.bytes()));
      device_.download(one.array.view(0, boolean, {one.array.bytes()}),
                       static_cast<void*>(bytes.data()), stream_);
      stream_.synchronize();
      std::ofstream file(folder + "/" + one.name, std::ios::binary);
      file.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
      if (!file) throw UserError(fmt::format("{}/{} cannot be written", folder, one.name));
    }
    return Json::object();
  }

  Json time(int calls) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) run();
    return {{"us", 1e3 * milliseconds_since(start)}};
  }

  std::vector<Case> cases_;
  Device device_;
  Stream stream_;
  Options options_ = options_from_environment();
  std::unique_ptr<Prepared> prepared_;
};

}  // namespace
}  // namespace sinter::suite

int main(int count, char** arguments) {
  using namespace sinter;
  const bool is_wide = count == 4 && arguments[3] == std::string_view("wide");
  if (count != 3 && !is_wide) {
    fmt::print(stderr, "usage: cpu_peer SUITE.json THREADS [wide]\n");
    return 2;
  }
  try {
    host::configure({.workers = std::stoi(arguments[2])});
    suite::Worker worker(arguments[1], is_wide ? Rounding::wide : Rounding::as_recorded);
    std::cout << nlohmann::json{{"version", sinter_version()}} << std::endl;
    for (std::string line; std::getline(std::cin, line);)
      std::cout << worker.answer(nlohmann::json::parse(line)) << std::endl;
  } catch (const std::exception& error) {
    std::cout << nlohmann::json{{"status", "missing"}, {"reason", error.what()}} << std::endl;
    return 1;
  }
  return 0;
}
