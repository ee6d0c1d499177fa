#include "train.h"

#include "batches.h"
#include "state.h"

#include <chrono>

namespace digits {

using namespace sinter;  // NOLINT

Trained train(const Executable& executable, const Set& set, Loop loop, int steps) {
  const Device device = executable.device();
  const Stream compute = device.stream();
  State state(device, compute);
  Batches batches(device, set, /*ahead=*/kReadEvery);
  Context context = executable.context();
  std::vector<std::string> lines;
  int syncs = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < steps; ++step) {
    const Slot& slot = batches.send(step);
    const float rate = step < steps / 2 ? 1.0F : 0.5F;
    const std::vector<Binding> inputs = {
        {"pixels", slot.pixels}, {"labels", slot.labels},      {"weight", state.weight},
        {"bias", state.bias},    {"loss_sum", state.loss_sum}, {"steps", state.steps},
        {"rate", rate},          {"has_nan", state.has_nan}};
    compute.wait(slot.is_full);
    if (loop == Loop::replay)
      context.replay(compute, inputs, {});
    else
      context.run(compute, inputs, {});
    slot.is_free.record(compute);
    if (loop == Loop::naive) {
      compute.synchronize();
      ++syncs;
    }
    if ((step + 1) % kReadEvery == 0) {
      lines.push_back(state.read(compute));
      ++syncs;
    }
  }
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;

  Trained trained{.steps = steps,
                  .weight = state.weight,
                  .bias = state.bias,
                  .parameters = state.parameters(compute),
                  .lines = std::move(lines),
                  .syncs_per_step = static_cast<double>(syncs) / steps,
                  .microseconds_per_step = time.count() / steps,
                  .counters = context.counters()};
  trained.launches_per_step =
      static_cast<double>(trained.counters.kernel_launches + trained.counters.graph_launches) /
      steps;
  return trained;
}

float held_out_accuracy(const Executable& accuracy, const Trained& trained, const Set& set) {
  const Device device = accuracy.device();
  const Stream stream = device.stream();
  Context context = accuracy.context();
  const Array pixels = device.empty(f32, {set.size(), kPixels});
  const Array labels = device.empty(i32, {set.size()});
  device.upload(pixels, set.pixels, stream);
  device.upload(labels, set.labels, stream);
  const Outputs outputs = context.run(
      stream,
      {{"pixels", pixels}, {"labels", labels}, {"weight", trained.weight}, {"bias", trained.bias}});
  return device.download<float>(outputs["accuracy"], stream)[0];
}

}  // namespace digits
