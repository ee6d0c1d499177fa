#include "bench/constants/probe_kernels.h"

#include <fmt/format.h>

namespace sinter::constants {

namespace {

/// A kernel whose text follows `extern "C" __global__ void __launch_bounds__(THREADS)`.
Source kernel(std::string entry, int threads, const std::string& parameters,
              const std::string& body) {
  return {
      .entry = entry,
      .text = fmt::format("extern \"C\" __global__ void __launch_bounds__({})\n{}({}) {{\n{}}}\n",
                          threads, entry, parameters, body),
      .arguments = {},
      .threads = threads,
      .has_barrier = true,
      .traffic = {}};
}

/// The copy of one piece: `first` is the first vector of the thread.
constexpr const char* kCopyPiece = R"(
    Vector<float, 4> kept[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (first + 256 * k < vectors) kept[k] = load<4>(from, 4 * (first + 256 * k));
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (first + 256 * k < vectors) store<4>(to, 4 * (first + 256 * k), kept[k]);
)";
static_assert(kThreads == 256 && kVector == 4 && kUnroll == 4, "the texts have these numbers");

constexpr const char* kStreams =
    "const float* __restrict__ from, float* to, const long long vectors";

}  // namespace

Source nothing_kernel() {
  return kernel("nothing", kThreads, "unsigned* to", "  if (gridDim.x == 0) *to = 1;\n");
}

Source grid_barriers_kernel() {
  Source source = kernel("grid_barriers", kThreads, "unsigned* arrivals, const int count",
                         "#pragma unroll 1\n"
                         "  for (int i = 0; i < count; ++i) grid_barrier(arrivals);\n");
  source.is_cooperative = true;
  return source;
}

Source cluster_barriers_kernel(int cluster) {
  Source source = kernel("cluster_barriers", kThreads, "const int count",
                         "#pragma unroll 1\n"
                         "  for (int i = 0; i < count; ++i) {\n"
                         "    cluster_arrive();\n"
                         "    cluster_wait();\n"
                         "  }\n");
  source.cluster = cluster;
  return source;
}

Source copy_kernel() {
  return kernel("copy", kThreads, kStreams,
                fmt::format("  const long long first = blockIdx.x * 1024ll + threadIdx.x;\n"
                            "  {{{}  }}\n",
                            kCopyPiece));
}

Source staying_copy_kernel() {
  Source source = kernel(
      "staying_copy", kThreads, kStreams,
      fmt::format(
          "#pragma unroll 1\n"
          "  for (long long piece = blockIdx.x; piece * 1024 < vectors; piece += gridDim.x) {{\n"
          "    const long long first = piece * 1024 + threadIdx.x;{}  }}\n",
          kCopyPiece));
  source.is_cooperative = true;
  return source;
}

Source write_kernel() {
  return kernel("write", kThreads, "float* to, const long long vectors", R"(
  const long long first = blockIdx.x * 1024ll + threadIdx.x;
  Vector<float, 4> ones;
#pragma unroll
  for (int k = 0; k < 4; ++k) ones[k] = 1.0f;
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (first + 256 * k < vectors) store<4>(to, 4 * (first + 256 * k), ones);
)");
}

Source read_kernel(int threads, int loads) {
  // The compiler cannot know that the sum never has this value, so it keeps all loads.
  return kernel(fmt::format("read_{}_{}", threads, loads), threads, kStreams,
                fmt::format(R"(
  const long long stride = {0}ll * gridDim.x;
  float seen = 0.0f;
#pragma unroll 1
  for (long long i = {0}ll * blockIdx.x + threadIdx.x; i + {2} * stride < vectors; i += {1} * stride) {{
    Vector<float, 4> kept[{1}];
#pragma unroll
    for (int k = 0; k < {1}; ++k) kept[k] = load<4>(from, 4 * (i + k * stride));
#pragma unroll
    for (int k = 0; k < {1}; ++k) seen += (kept[k][0] + kept[k][1]) + (kept[k][2] + kept[k][3]);
  }}
  if (seen == 12345.678f) *to = seen;
)",
                            threads, loads, loads - 1));
}

Source tile_copies_kernel() {
  Source source =
      kernel("tile_copies", kThreads, "const float* __restrict__ from, float* to, const int rounds",
             R"(
  float* const tile = reinterpret_cast<float*>(shared_memory());
  float seen = 0.0f;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    const long long begin = (static_cast<long long>(round) * gridDim.x + blockIdx.x) * 12288;
#pragma unroll 1
    for (int part = 0; part < 12; part += 6) {
      Vector<float, 4> kept[6];
#pragma unroll
      for (int k = 0; k < 6; ++k)
        kept[k] = load<4>(from, begin + 4 * ((part + k) * 256 + threadIdx.x));
#pragma unroll
      for (int k = 0; k < 6; ++k) store<4>(tile, 4 * ((part + k) * 256 + threadIdx.x), kept[k]);
    }
    block_barrier();
    seen += tile[(threadIdx.x * 33) % 12288];
    block_barrier();
  }
  if (seen == 12345.678f) *to = seen;
)");
  source.shared_bytes = kTileBytes;
  return source;
}

Source tile_work_kernel() {
  Source source = kernel("tile_work", kThreads, "float* to, const int rounds", R"(
  float* const tile = reinterpret_cast<float*>(shared_memory());
#pragma unroll 1
  for (int i = threadIdx.x; i < 12288; i += 256) tile[i] = 1.0f;
  block_barrier();
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
#pragma unroll 4
    for (int part = 0; part < 12; ++part) {
      const int first = 4 * (part * 256 + threadIdx.x);
      Vector<float, 4> kept = load<4>(tile, first);
#pragma unroll
      for (int k = 0; k < 4; ++k) kept[k] = kept[k] * 0.75f + 0.25f;
      store<4>(tile, first, kept);
    }
    block_barrier();
  }
  to[blockIdx.x * 256 + threadIdx.x] = tile[threadIdx.x];
)");
  source.shared_bytes = kTileBytes;
  return source;
}

}  // namespace sinter::constants
