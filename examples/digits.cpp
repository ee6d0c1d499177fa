// Trains a softmax regression on real handwritten digits. One recorded program computes a whole
// step. It is fused, tuned, and replayed as one CUDA Graph while the next batch is copied.
// Usage: digits [--device host|cuda] [--steps N]
#include "digits/data.h"
#include "digits/model.h"
#include "digits/print.h"
#include "digits/train.h"

#include <sinter/sinter.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

namespace {

using namespace digits;  // NOLINT

constexpr double kMinAccuracy = 0.93;

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

int demonstrate(sinter::Device device, int steps) {
  const Data data = read_data(SINTER_SOURCE_DIR "/examples/data/digits.csv");
  // If kernels run on the CPU, NVRTC also compiles them for a GPU.
  sinter::Options options = sinter::options_from_environment({.also_nvrtc = device.is_host()});
  const sinter::Graph graph = training_step();
  const sinter::Executable step = sinter::compile(graph, device, options);
  const sinter::Executable measure =
      sinter::compile(accuracy(data.held_out.size()), device, options);
  options.fuse = false;
  options.tune = sinter::Tune::off;
  options.dump = {};
  const sinter::Executable unfused = sinter::compile(graph, device, options);
  const sinter::Report report = step.report();
  const sinter::Report unfused_report = unfused.report();
  std::printf("device: %s, kernels planned for %s\n", report.device.c_str(), report.target.c_str());
  std::printf("%d digits to train on, %d held out\n", data.train.size(), data.held_out.size());
  print_programs(report, unfused_report);
  print_a_kernel(report);
  std::printf("\nTuning (on %s):\n%s", report.device.c_str(), tuning_table(report).c_str());
  print_registers({report, unfused_report, measure.report()}, device.arch());

  const Trained replayed = train(step, data.train, Loop::replay, steps);
  std::printf("\nTraining, %d steps of %d images:\n", steps, kBatch);
  for (const std::string& line : replayed.lines) std::printf("  %s\n", line.c_str());
  const Trained fused = train(step, data.train, Loop::run, steps);
  const Trained naive = train(unfused, data.train, Loop::naive, steps);
  print_loops(naive, fused, replayed);
  const bool is_same = same_bits(naive.parameters, fused.parameters) &&
                       same_bits(fused.parameters, replayed.parameters);
  std::printf("naive, fused and replayed training end in %s weights\n\n",
              is_same ? "bit-identical" : "DIFFERENT");
  const double share = held_out_accuracy(measure, replayed, data.held_out);
  std::printf("held-out accuracy: %.4f\n", share);
  return is_same && share >= kMinAccuracy ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  std::string_view device;
  int steps = kSteps;
  bool is_usage = count % 2 == 1;
  for (int i = 1; is_usage && i + 1 < count; i += 2) {
    const std::string_view name = arguments[i], value = arguments[i + 1];
    if (name == "--device") {
      device = value;
      is_usage = device == "host" || device == "cuda";
    } else {
      steps = std::atoi(arguments[i + 1]);
      is_usage = name == "--steps" && steps >= 1;
    }
  }
  if (!is_usage) {
    std::fprintf(stderr, "usage: digits [--device host|cuda] [--steps N]\n");
    return 2;
  }
  try {
    return demonstrate(device == "host"   ? sinter::host_device()
                       : device == "cuda" ? sinter::cuda_device()
                                          : sinter::default_device(),
                       steps);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "digits: %s\n", error.what());
    return 1;
  }
}
