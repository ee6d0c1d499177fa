#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/graph/node.h"
#include "ir/oracle/check.h"
#include "ir/oracle/interpret.h"
#include "ir/oracle/random_inputs.h"
#include "ir/verify/symbol_sizes.h"
#include "runtime/driver/host/host_driver.h"
#include "tests/support/run/compare_launches.h"
#include "tests/support/run/compile_together.h"
#include "tests/support/run/run.h"

namespace sinter::test {

namespace {

std::string kernels_text(const Report& report) {
  std::string text;
  for (const KernelReport& kernel : report.kernels)
    text += fmt::format("\n{}\n// grid {}\n", kernel.source, kernel.grid);
  for (const BoundaryReport& boundary : report.boundaries)
    text += fmt::format("{} | {}: {}\n", boundary.producer, boundary.consumer, boundary.reason);
  return text;
}

std::string value_text(const HostArray& array, std::span<const std::int64_t> index) {
  return is_floating(array.dtype()) ? fmt::format("{}", array.real(index))
                                    : fmt::format("{}", array.integer(index));
}

class Checker {
 public:
  Checker(Device device, const Graph& graph, std::span<const Size> sizes,
          const CheckSettings& settings)
      : device_(device), graph_(graph), settings_(settings) {
    std::vector<NamedSize> named;
    for (const Size& size : sizes) {
      named.push_back({size.symbol, size.value});
      sizes_text_ += fmt::format(" {} = {}", size.symbol, size.value);
    }
    symbols_ = symbols_from_sizes(graph, named);
    inputs_ = random_inputs(graph, symbols_, settings.seed);
  }

  RunResult run() {
    Options options = settings_.options;
    options.tune = Tune::off;  // check_candidates runs every candidate
    options.count = device_.is_host();
    options.optimize_host = settings_.optimized || is_large();
    if (device_.is_host())
      compile_all(options);
    else if (settings_.candidates)
      options.force_candidate = 0;  // the default schedule, compiled once with all others
    RunResult fused =
        run_graph(graph_, device_, inputs_, {.symbols = symbols_, .options = options});
    check_oracle(fused);
    check_counted("fused", fused);
    if (settings_.replay) check_replay(options, fused);
    options.force_candidate = -1;
    // The other runs are only compared with it, so their kernels are compiled without optimisation.
    options.optimize_host = false;
    if (settings_.candidates) check_candidates(options, fused);
    if (settings_.unfused) check_unfused(options, fused);
    if (settings_.misaligned) check_misaligned(options, fused);
    fused.inputs = std::move(inputs_);
    return fused;
  }

 private:
  /// True if running takes longer than compiling with optimisation.
  bool is_large() const {
    std::int64_t elements = 0;
    for (const auto& [name, values] : inputs_) elements += values.size();
    return elements > 1 << 20;
  }

  /// Compiles all kernels that `run` uses.
  void compile_all(Options options) const {
    std::vector<RunForm> forms;
    const auto add = [&](std::int64_t alignment = 16) {
      forms.push_back({&graph_, symbols_, options, alignment});
    };
    add();
    options.optimize_host = false;
    if (settings_.misaligned) add(std::min<std::int64_t>(misalignment(), 16));
    options.fuse = false;
    if (settings_.unfused) add();
    options.fuse = settings_.options.fuse;
    options.force_candidate = 0;  // compiles all candidates
    if (settings_.candidates) add();
    compile_together(forms);
  }

  /// The largest element size of the inputs and outputs, in bytes. Arrays at this offset are still
  /// aligned to their elements.
  std::int64_t misalignment() const {
    std::int64_t largest = 1;
    for (const auto& [name, values] : inputs_)
      largest = std::max<std::int64_t>(largest, size_of(values.dtype()));
    for (const OutputInfo& output : graph_.data().outputs)
      largest = std::max<std::int64_t>(largest, size_of(output.node->dtype));
    return largest;
  }

  void fail(const std::string& message, const Report& report) const {
    ADD_FAILURE() << message << "\n\n"
                  << print(graph_) << "sizes:" << sizes_text_ << ", seed " << settings_.seed << "\n"
                  << kernels_text(report);
  }

  void check_oracle(const RunResult& run) const {
    const Interpretation expected = interpret(graph_, inputs_, symbols_);
    for (const auto* values : {&expected.outputs, &expected.updates})
      for (const auto& [name, value] : *values) {
        const CheckResult result = check(value, run.results.at(name));
        if (!result.passes()) fail("oracle: " + describe(name, result), run.report);
      }
  }

  void check_same_bits(std::string_view what, const RunResult& run, const RunResult& fused) const {
    for (const auto& [name, values] : fused.results) {
      const HostArray& other = run.results.at(name);
      const auto index = first_difference(values, other);
      if (!index) continue;
      fail(fmt::format("{}: {}[{}] is {} but {} in the fused run", what, name,
                       fmt::join(*index, ", "), value_text(other, *index),
                       value_text(values, *index)),
           run.report);
    }
  }

  /// Compares the launches and bytes that the counting prelude counted with the predicted ones.
  void check_counted(std::string_view what, const RunResult& run) const {
    if (!device_.is_host()) return;
    std::int64_t launches = 0;
    std::int64_t read = 0;
    std::int64_t written = 0;
    for (const KernelReport& kernel : run.report.kernels) {
      if (kernel.kind == "opaque") continue;
      launches += kernel.launches;
      read += kernel.launches * kernel.bytes_read;
      written += kernel.launches * kernel.bytes_written;
    }
    if (launches != run.launches)
      fail(fmt::format("{}: {} launches predicted but {} counted", what, launches, run.launches),
           run.report);
    const std::vector<host::Launch> counted = host::counters().launches;
    if (!as_predicted(run.report, counted))
      fail(fmt::format("{}: {} bytes read and {} written predicted but {} and {} counted", what,
                       read, written, run.bytes_read, run.bytes_written) +
               per_launch(run.report, counted),
           run.report);
  }

  void check_replay(const Options& options, const RunResult& fused) const {
    const RunResult replayed = run_graph(
        graph_, device_, inputs_, {.symbols = symbols_, .options = options, .as_graph = true});
    check_same_bits("replayed", replayed, fused);
  }

  void check_candidates(Options options, const RunResult& fused) const {
    std::size_t most = 1;
    for (const KernelReport& kernel : fused.report.kernels)
      most = std::max(most, kernel.candidates.size());
    // On a GPU, `fused` is the run of the first candidate.
    for (std::size_t i = device_.is_host() ? 0 : 1; i < most; ++i) {
      options.force_candidate = static_cast<int>(i);
      const RunResult run =
          run_graph(graph_, device_, inputs_, {.symbols = symbols_, .options = options});
      for (const KernelReport& kernel : run.report.kernels)
        most = std::max(most, kernel.candidates.size());
      check_same_bits(fmt::format("candidate {}", i), run, fused);
      check_counted(fmt::format("candidate {}", i), run);
    }
  }

  void check_unfused(Options options, const RunResult& fused) const {
    options.fuse = false;
    const RunResult unfused =
        run_graph(graph_, device_, inputs_, {.symbols = symbols_, .options = options});
    check_same_bits("unfused", unfused, fused);
    check_counted("unfused", unfused);
  }

  void check_misaligned(const Options& options, const RunResult& fused) const {
    const RunResult run =
        run_graph(graph_, device_, inputs_,
                  {.symbols = symbols_, .options = options, .misalignment = misalignment()});
    check_same_bits(fmt::format("{} bytes misaligned", misalignment()), run, fused);
  }

  Device device_;
  const Graph& graph_;
  const CheckSettings& settings_;
  std::string sizes_text_;
  std::vector<std::int64_t> symbols_;
  HostArrays inputs_;
};

}  // namespace

RunResult run_and_check_on(Device device, const Graph& graph, std::vector<Size> sizes,
                           const CheckSettings& settings) {
  return Checker(device, graph, sizes, settings).run();
}

RunResult run_and_check(const Graph& graph, std::vector<Size> sizes,
                        const CheckSettings& settings) {
  return run_and_check_on(host_device(), graph, std::move(sizes), settings);
}

RunResult run_and_check(std::string_view text, std::vector<Size> sizes,
                        const CheckSettings& settings) {
  return run_and_check(parse(text), std::move(sizes), settings);
}

}  // namespace sinter::test
