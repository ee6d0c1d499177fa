#include "gemm.h"

#include <cstring>

#include "cublaslt.h"

namespace {

struct Problem {
  std::int64_t m, k, n;
  explicit Problem(const sinter::OpaqueSizes& call)
      : m(call.inputs[0].shape[0]), k(call.inputs[0].shape[1]), n(call.inputs[1].shape[1]) {}
};

float widened(std::uint16_t bf16) {
  const std::uint32_t bits = std::uint32_t{bf16} << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// Rounds to nearest even. `value` must not be NaN.
std::uint16_t rounded(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void multiply_on_host(const sinter::OpaqueCall& call) {
  const auto* const x = static_cast<const std::uint16_t*>(call.inputs[0].data);
  const auto* const w = static_cast<const std::uint16_t*>(call.inputs[1].data);
  auto* const y = static_cast<std::uint16_t*>(call.outputs[0].data);
  call.on_host([x, w, y, size = Problem(call)] {
    for (std::int64_t i = 0; i < size.m; ++i)
      for (std::int64_t j = 0; j < size.n; ++j) {
        float sum = 0;
        for (std::int64_t k = 0; k < size.k; ++k)
          sum += widened(x[i * size.k + k]) * widened(w[k * size.n + j]);
        y[i * size.n + j] = rounded(sum);
      }
  });
}

int multiply(const sinter::OpaqueCall& call) {
  if (call.is_host_device) return multiply_on_host(call), 0;
  const Problem size(call);
  return cublaslt::multiply({.m = size.m,
                             .k = size.k,
                             .n = size.n,
                             .x = call.inputs[0].data,
                             .w = call.inputs[1].data,
                             .y = call.outputs[0].data,
                             .workspace = call.workspace,
                             .workspace_bytes = call.workspace_bytes,
                             .stream = call.stream});
}

}  // namespace

sinter::OpaqueFunction gemm() {
  constexpr std::int64_t kWorkspace = 32 << 20;  // NVIDIA's recommendation for Hopper
  return {.enqueue = multiply, .workspace = [](const sinter::OpaqueSizes&) { return kWorkspace; }};
}
