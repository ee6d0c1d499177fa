#include "train.h"

#include <cstdio>
#include <random>

#include "../mlp/model.h"
#include "model.h"

namespace distributed {

using namespace sinter;  // NOLINT: typical for user code

namespace {

constexpr int kSteps = 300;

/// The images of the rank, and weights that are equal on all ranks.
std::map<std::string, Array> first_arrays(const digits::Set& set, int first, int pieces, int images,
                                          const Device& device, const Stream& stream) {
  const auto upload = [&](DType dtype, Sizes shape, const auto* values) {
    const Array array = device.empty(dtype, shape);
    device.upload(array, static_cast<const void*>(values), stream);
    return array;
  };
  std::map<std::string, Array> arrays;
  const std::int64_t at = std::int64_t{first} * images;
  arrays.emplace("pixels", upload(f32, {pieces, images, digits::kPixels},
                                  set.pixels.data() + at * digits::kPixels));
  arrays.emplace("labels", upload(i32, {pieces, images}, set.labels.data() + at));
  const std::int64_t start = 0;
  arrays.emplace("step", upload(i64, {}, &start));
  std::mt19937 random(1);
  for (const mlp::Parameter& one : mlp::parameters()) {
    std::vector<float> values(static_cast<std::size_t>(device.empty(f32, one.shape).elements()));
    for (float& value : values) value = one.spread * (static_cast<float>(random()) * 0x1p-31F - 1);
    arrays.emplace(one.name, upload(f32, one.shape, values.data()));
  }
  return arrays;
}

}  // namespace

Weights train(const digits::Set& set, const Communicator& ranks) {
  const int pieces = kPieces / ranks.size();
  const int images = set.size() / kPieces;
  const Device device = default_device();
  const Stream stream = device.stream();
  const std::map<std::string, Array> arrays =
      first_arrays(set, ranks.rank() * pieces, pieces, images, device, stream);
  std::vector<Binding> bindings;
  for (const auto& [name, array] : arrays) bindings.emplace_back(name, array);

  const RankGroup data = {.name = "data", .size = ranks.size()};
  const Executable program = compile(training_step(pieces, images, data), device);
  Context context = program.context({{"data", ranks}});
  const Array loss = device.empty(f32, {});
  for (int i = 0; i < kSteps; ++i) context.replay(stream, bindings, {{"loss", loss}});
  const float last = device.download<float>(loss, stream)[0];
  ranks.check();
  std::int64_t sent = 0;
  for (const KernelReport& kernel : program.report().kernels) sent += kernel.bytes_sent;
  if (ranks.rank() == 0)
    std::printf("%d rank(s): %lld bytes sent per rank and step, %.2f graph launches, loss %.4f\n",
                ranks.size(), static_cast<long long>(sent),
                static_cast<double>(context.counters().graph_launches) / kSteps,
                static_cast<double>(last));
  Weights weights;
  for (const mlp::Parameter& one : mlp::parameters())
    weights.emplace(one.name, device.download<float>(arrays.at(one.name), stream));
  return weights;
}

}  // namespace distributed
