#include "train.h"

#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "batches.h"
#include "model.h"

namespace digits {

using namespace sinter;  // NOLINT

namespace {

template <class Element>
Array filled(Device device, DType dtype, Sizes shape, const Stream& stream, Element value = {}) {
  const Array array = device.empty(dtype, shape);
  device.upload(array, std::vector<Element>(static_cast<std::size_t>(array.elements()), value),
                stream);
  return array;
}

/// What a step changes on the device, and pinned memory to read some of it into.
struct State {
  State(Device device, const Stream& stream)
      : weight(filled<float>(device, f32, {kClasses, kPixels}, stream)),
        bias(filled<float>(device, f32, {kClasses}, stream)),
        loss_sum(filled<float>(device, f32, {}, stream)),
        steps(filled<int>(device, i32, {}, stream)),
        has_nan(filled<char>(device, boolean, {}, stream)),
        host_loss_sum(device.pinned(f32, {})),
        host_steps(device.pinned(i32, {})),
        host_has_nan(device.pinned(boolean, {})) {}

  /// One wait for three copies. Returns a line on the steps since the last reading.
  std::string read(Device device, const Stream& stream) {
    device.download(loss_sum, host_loss_sum, stream);
    device.download(steps, host_steps, stream);
    device.download(has_nan, host_has_nan, stream);
    stream.synchronize();
    const float sum = host_loss_sum.elements_as<float>()[0];
    const int count = host_steps.elements_as<int>()[0];
    const bool is_nan = host_has_nan.elements_as<bool>()[0];
    char line[80];
    std::snprintf(line, sizeof line, "step %4d  loss %.4f  NaN: %s", count,
                  (sum - last_sum_) / static_cast<float>(count - last_count_), is_nan ? "yes" : "no");
    if (is_nan) throw std::runtime_error(line);
    last_sum_ = sum;
    last_count_ = count;
    return line;
  }

  Array weight, bias, loss_sum, steps, has_nan;
  PinnedArray host_loss_sum, host_steps, host_has_nan;

 private:
  float last_sum_ = 0;
  int last_count_ = 0;
};

}  // namespace

Trained train(const Executable& executable, const Set& set, Loop loop) {
  const Device device = executable.device();
  const Stream compute = device.stream();
  State state(device, compute);
  Batches batches(device, set, /*ahead=*/kReadEvery);
  Context context = executable.context();
  int syncs = 0;
  std::vector<std::string> lines;
  const auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < kSteps; ++step) {
    Slot& slot = batches.send(step);
    const float rate = step < kSteps / 2 ? 1.0F : 0.5F;
    const std::vector<Binding> inputs = {{"pixels", slot.pixels},        {"labels", slot.labels},
                              {"weight", state.weight},       {"bias", state.bias},
                              {"loss_sum", state.loss_sum},   {"steps", state.steps},
                              {"has_nan", state.has_nan},     {"rate", rate}};
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
      lines.push_back(state.read(device, compute));
      ++syncs;
    }
  }
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;

  Trained trained{.weight = state.weight,
                  .bias = state.bias,
                  .parameters = device.download<float>(state.weight, compute),
                  .lines = std::move(lines),
                  .syncs_per_step = static_cast<double>(syncs) / kSteps,
                  .microseconds_per_step = time.count() / kSteps,
                  .graph = context.graph_counters()};
  const std::vector<float> bias = device.download<float>(state.bias, compute);
  trained.parameters.insert(trained.parameters.end(), bias.begin(), bias.end());
  if (loop == Loop::replay)
    trained.launches_per_step = static_cast<double>(trained.graph.launches) / kSteps;
  else
    for (const KernelReport& kernel : executable.report().kernels)
      trained.launches_per_step += kernel.launches;
  return trained;
}

float held_out_accuracy(Device device, const Trained& trained, const Set& set) {
  const Stream stream = device.stream();
  Context context = compile(accuracy(set.size()), device).context();
  const Array pixels = device.empty(f32, {set.size(), kPixels});
  const Array labels = device.empty(i32, {set.size()});
  device.upload(pixels, set.pixels, stream);
  device.upload(labels, set.labels, stream);
  const Outputs outputs = context.run(stream, {{"pixels", pixels},
                                               {"labels", labels},
                                               {"weight", trained.weight},
                                               {"bias", trained.bias}});
  return device.download<float>(outputs["accuracy"], stream)[0];
}

}  // namespace digits
