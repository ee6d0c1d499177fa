// RMS normalisation, from recording to the emitted kernel.
#include <sinter/sinter.h>

#include <cstdint>
#include <cstdio>
#include <vector>

using namespace sinter;

int main() {
  Graph graph("rms_norm");
  const Extent rows = graph.extent("rows");  // a symbol: any size at run time
  const Tensor x = graph.input("x", bf16, {rows, 4096});
  const Tensor weight = graph.input("weight", bf16, {4096});
  const Tensor h = cast(x, f32);
  const Tensor scale = rsqrt(mean(h * h, {-1}, keep) + 1e-6F).label("scale");  // [rows, 1]
  graph.output("y", cast(h * scale * cast(weight, f32), bf16));

  const Device device = default_device();  // the first GPU, else the CPU
  const Stream stream = device.stream();
  const Array xs = device.empty(bf16, {64, 4096});
  const Array ws = device.empty(bf16, {4096});
  const Array ys = device.empty(bf16, {64, 4096});
  const std::vector<std::uint16_t> ones(64 * 4096, 0x3f80);  // 1.0 in bf16
  device.upload(xs, ones, stream);
  device.upload(ws, ones.data(), stream);

  const Executable norm = compile(graph, device);
  Context context = norm.context();
  context.run(stream, {{"x", xs}, {"weight", ws}}, {{"y", ys}});     // one kernel
  context.replay(stream, {{"x", xs}, {"weight", ws}}, {{"y", ys}});  // the same as a CUDA Graph
  const bool is_right = device.download<std::uint16_t>(ys, stream) == ones;

  for (const KernelReport& kernel : norm.report().kernels) std::puts(kernel.source.c_str());
  return is_right ? 0 : 1;
}
