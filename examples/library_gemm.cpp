// A layer with a library's matrix product between two fused kernels. It runs and replays as one
// program.
#include <sinter/sinter.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "library_gemm/cublaslt.h"
#include "library_gemm/gemm.h"

using namespace sinter;

namespace {

constexpr std::int64_t kRows = 64, kIn = 256, kOut = 128;

/// The bits of bf16 numbers around 0, equal in every run.
std::vector<std::uint16_t> numbers(std::int64_t count) {
  std::vector<std::uint16_t> bits;
  for (std::int64_t i = 0; i < count; ++i)
    bits.push_back(static_cast<std::uint16_t>(0x3c00 + i * 37 % 0x180 + (i % 3 == 0 ? 0x8000 : 0)));
  return bits;
}

Device device_for_gemm() {
  const Device device = default_device();
  const std::string why = device.is_host() ? "" : cublaslt::why_missing();
  if (why.empty()) return device;
  std::printf("%s; using the host device instead\n", why.c_str());
  return host_device();
}

}  // namespace

int main() {
  register_opaque("gemm", gemm());

  Graph graph("layer");
  const Extent rows = graph.extent("rows");
  const Tensor x = graph.input("x", bf16, {rows, kIn});
  const Tensor bias = graph.input("bias", bf16, {kIn});
  const Tensor w = graph.input("w", bf16, {kIn, kOut});
  const Tensor hidden = gelu(x + bias).label("hidden");
  const Tensor product = opaque("gemm", {hidden, w}, {.dtype = bf16, .shape = {rows, kOut}});
  const Tensor wide = cast(product, f32);
  const Tensor scale = rsqrt(mean(wide * wide, {-1}, keep) + 1e-6F);
  graph.output("y", wide * scale);

  const Device device = device_for_gemm();
  const Stream stream = device.stream();
  const auto upload = [&](std::vector<std::int64_t> shape, std::int64_t count) {
    const Array array = device.empty(bf16, shape);
    device.upload(array, numbers(count), stream);
    return array;
  };
  const Array xs = upload({kRows, kIn}, kRows * kIn);
  const Array bs = upload({kIn}, kIn);
  const Array ws = upload({kIn, kOut}, kIn * kOut);
  const Array run = device.empty(f32, {kRows, kOut});
  const Array replayed = device.empty(f32, {kRows, kOut});

  const Executable layer = compile(graph, device);
  Context context = layer.context();
  context.run(stream, {{"x", xs}, {"bias", bs}, {"w", ws}}, {{"y", run}});
  context.replay(stream, {{"x", xs}, {"bias", bs}, {"w", ws}}, {{"y", replayed}});
  const std::vector<float> y = device.download<float>(run, stream);

  for (const KernelReport& kernel : layer.report().kernels)
    std::printf("%-13s %s\n", kernel.kind.c_str(), kernel.nodes.back().c_str());
  double squares = 0;  // mean square of a row, which the norm makes 1
  for (std::int64_t i = 0; i < kOut; ++i) squares += y[i] * y[i] / static_cast<double>(kOut);
  const bool is_same = y == device.download<float>(replayed, stream);
  std::printf("%s: mean square of a row %.4f, replayed %s\n", std::string(device.name()).c_str(),
              squares, is_same ? "to the same bits" : "differently");
  return is_same && std::fabs(squares - 1) < 1e-3 ? 0 : 1;
}
