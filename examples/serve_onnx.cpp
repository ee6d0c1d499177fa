// Serves a model from one file: loads it once, and answers batches of several sizes from several
// threads, each with a Context. Arguments: a file of `sinter compile`, its input, and the axes of
// the input after the batch: `serve_onnx resnet.sinterx data 3 224 224`. Else it makes a model.
#include <sinter/sinter.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include <unistd.h>

using namespace sinter;
using Floats = std::vector<float>;

constexpr std::int64_t kBatches[] = {1, 3, 8, 100};
constexpr std::size_t kRequests = 2000;

/// y[batch, 10] = relu(x[batch, 1, 64] * w[10, 64], summed, + b[10]), with its weights.
static void save_small_model(const std::string& file, Device device) {
  Graph graph("small");
  const Tensor x = graph.input("x", f32, {graph.extent("batch"), 1, 64});
  const Tensor w = graph.input("w", f32, {10, 64});
  graph.output("y", relu(sum(x * w, {-1}) + graph.input("b", f32, {10})));
  const Stream stream = device.stream();
  const Array ws = device.empty(f32, {10, 64});
  const Array bs = device.empty(f32, {10});
  device.upload(ws, Floats(640, 0.01F), stream);
  device.upload(bs, Floats(10, -0.1F), stream);
  const Executable model = compile(graph, device).with_weights({{"w", ws}, {"b", bs}});
  for (const std::int64_t batch : kBatches) model.prepare({{"batch", batch}});
  model.save(file);
}

struct Server {
  Floats answer(Context& context, const Stream& stream, std::int64_t batch) const {
    std::vector<std::int64_t> shape = axes;
    shape.insert(shape.begin(), batch);
    const Array x = stream.device().empty(f32, shape);
    Floats values(static_cast<std::size_t>(x.elements()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 23) / 23;
    stream.device().upload(x, values, stream);
    return stream.device().download<float>(context.run(stream, {{input, x}})[0], stream);
  }

  Executable model;
  std::string input = "x";
  std::vector<std::int64_t> axes = {1, 64};
};

int main(int count, char** arguments) {
  const Device device = default_device();
  const std::string own = std::filesystem::temp_directory_path() / std::to_string(getpid());
  if (count < 3) save_small_model(own, device);
  Server server{.model = load(count < 3 ? own : arguments[1], device, {.compiles_missing = true})};
  if (count < 3) std::filesystem::remove(own);  // the loaded weights stay
  if (count >= 3) server.input = arguments[2], server.axes.clear();
  for (int i = 3; i < count; ++i) server.axes.push_back(std::atoll(arguments[i]));

  Context alone = server.model.context();
  std::vector<Floats> expected;
  for (const auto batch : kBatches)
    expected.push_back(server.answer(alone, device.stream(), batch));
  std::atomic<int> wrong = 0;
  for (const int threads : {1, 2, 4}) {
    std::atomic<std::size_t> next = 0;
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i)
      all.emplace_back([&, stream = device.stream(), context = server.model.context()]() mutable {
        for (std::size_t k = next++; k < kRequests; k = next++)
          if (server.answer(context, stream, kBatches[k % 4]) != expected[k % 4]) ++wrong;
      });
    all.clear();  // waits
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    std::printf("%d threads: %.0f requests per second\n", threads, kRequests / time.count());
  }
  return wrong == 0 ? 0 : 1;
}
