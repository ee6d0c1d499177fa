// Trains a network with a hidden layer on real handwritten digits. One recorded program draws a
// batch, computes the loss and all gradients, and updates the weights. Its matrix products are
// library calls between fused kernels. A step is one launch of a CUDA Graph. The trained network is
// then measured again with products of 8-bit operands.
#include <sinter/sinter.h>

#include <cstdio>
#include <exception>
#include <map>
#include <random>
#include <string>

#include "digits/data.h"
#include "mlp/model.h"
#include "mlp/quantized.h"

using namespace sinter;

namespace {

constexpr int kSteps = 1200;
constexpr float kMinAccuracy = 0.97F;
constexpr float kMaxLoss8Bit = 0.005F;  ///< of accuracy by products of 8-bit operands

using Arrays = std::map<std::string, Array>;

std::vector<Binding> bound(const Arrays& arrays) {
  std::vector<Binding> bindings;
  for (const auto& [name, array] : arrays) bindings.emplace_back(name, array);
  return bindings;
}

int demonstrate() {
  const digits::Data data = digits::read_data(SINTER_SOURCE_DIR "/examples/data/digits.csv");
  const Device device = default_device();
  const Stream stream = device.stream();
  const auto upload = [&](DType dtype, Sizes shape, const auto& values) {
    const Array array = device.empty(dtype, shape);
    device.upload(array, values, stream);
    return array;
  };
  const auto images = [&](const digits::Set& set) {
    return Arrays{{"pixels", upload(f32, {set.size(), digits::kPixels}, set.pixels)},
                  {"labels", upload(i32, {set.size()}, set.labels)}};
  };
  Arrays training = images(data.train);
  Arrays measuring = images(data.held_out);
  Arrays parameters;
  training.emplace("step", upload(i64, {}, std::vector<std::int64_t>(1)));
  std::mt19937 random(1);
  for (const mlp::Parameter& one : mlp::parameters()) {
    std::vector<float> values(static_cast<std::size_t>(device.empty(f32, one.shape).elements()));
    training.emplace(mlp::velocity_of(one), upload(f32, one.shape, values));
    for (float& value : values) value = one.spread * (static_cast<float>(random()) * 0x1p-31F - 1);
    const Array weight = upload(f32, one.shape, values);
    training.emplace(one.name, weight);
    parameters.emplace(one.name, weight);
    measuring.emplace(one.name, weight);
  }

  Context step = compile(mlp::training_step(data.train.size()), device).context();
  const Array loss = device.empty(f32, {});
  for (int i = 0; i < kSteps; ++i) step.replay(stream, bound(training), {{"loss", loss}});
  const std::int64_t launches = step.counters().graph_launches;

  const auto accuracy_of = [&](const Graph& graph) {
    const Outputs outputs = compile(graph, device).context().run(stream, bound(measuring));
    return device.download<float>(outputs["accuracy"], stream)[0];
  };
  const float accuracy = accuracy_of(mlp::accuracy(data.held_out.size()));
  std::printf("%s: %.2f graph launches per step, loss %.4f, held-out accuracy %.4f\n",
              std::string(device.name()).c_str(), static_cast<double>(launches) / kSteps,
              static_cast<double>(device.download<float>(loss, stream)[0]),
              static_cast<double>(accuracy));

  bool is_accurate = accuracy >= kMinAccuracy;
  const Arrays trained_on = images(data.train);
  for (const DType dtype : {i8, f8e4m3}) {
    const float own = accuracy_of(mlp::quantized_accuracy(data.held_out.size(), dtype, stream,
                                                          bound(parameters), bound(trained_on)));
    std::printf("with products of %s: held-out accuracy %.4f\n", std::string(name(dtype)).c_str(),
                static_cast<double>(own));
    is_accurate &= own >= accuracy - kMaxLoss8Bit;
  }
  return launches == kSteps && is_accurate ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return demonstrate();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mlp: %s\n", error.what());
    return 1;
  }
}
