#include "tests/support/doubles/opaque.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ir/graph/node.h"
#include "ir/types/element.h"

namespace sinter::test {

Registered::Registered(std::string name, OpaqueFunction function) : name_(std::move(name)) {
  if (!function.enqueue) function.enqueue = [](const OpaqueCall&) { return 0; };
  register_opaque(name_, std::move(function));
}

Registered::~Registered() { unregister_opaque(name_); }

double HostElements::get(std::int64_t i) const {
  return read_real(dtype_, data_ + i * size_of(dtype_));
}

void HostElements::set(std::int64_t i, double value) const {
  std::byte* const place = data_ + i * size_of(dtype_);
  if (is_floating(dtype_))
    write_real(dtype_, place, value);
  else
    write_integer(dtype_, place, static_cast<Wide>(value));
}

namespace {

struct ProductSizes {
  std::int64_t m, k, n;
};

ProductSizes product_sizes(std::span<const std::int64_t> x, std::span<const std::int64_t> w) {
  return {.m = x[0], .k = x[1], .n = w[1]};
}

int enqueue(const OpaqueCall& call) {
  if (!call.is_host_device) return 1;
  const ProductSizes sizes = product_sizes(call.inputs[0].shape, call.inputs[1].shape);
  const double alpha =
      call.inputs.size() > 2 ? as_real(call.inputs[2].number) : call.number("alpha", 1.0);
  const HostElements x(call.inputs[0]);
  const HostElements w(call.inputs[1]);
  const HostElements y(call.outputs[0]);
  call.on_host([=] {
    for (std::int64_t i = 0; i < sizes.m; ++i)
      for (std::int64_t j = 0; j < sizes.n; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < sizes.k; ++k)
          sum += x.get(i * sizes.k + k) * w.get(k * sizes.n + j);
        y.set(i * sizes.n + j, alpha * sum);
      }
  });
  return 0;
}

/// The bound is |Σ x w − Σ x̂ ŵ| ≤ Σ (|x| b_w + |w| b_x + b_x b_w), plus the rounding of the sums.
void reference(const OpaqueReference& call) {
  const OpaqueValue& x = call.inputs[0];
  const OpaqueValue& w = call.inputs[1];
  const ProductSizes sizes = product_sizes(x.shape, w.shape);
  const double alpha =
      call.inputs.size() > 2 ? call.inputs[2].reals[0] : call.sizes.number("alpha", 1.0);
  for (std::int64_t i = 0; i < sizes.m; ++i)
    for (std::int64_t j = 0; j < sizes.n; ++j) {
      double sum = 0, size = 0, bound = 0;
      for (std::int64_t k = 0; k < sizes.k; ++k) {
        const auto a = static_cast<std::size_t>(i * sizes.k + k);
        const auto b = static_cast<std::size_t>(k * sizes.n + j);
        sum += x.reals[a] * w.reals[b];
        size += std::fabs(x.reals[a] * w.reals[b]);
        bound += std::fabs(x.reals[a]) * w.bounds[b] + std::fabs(w.reals[b]) * x.bounds[a] +
                 x.bounds[a] * w.bounds[b];
      }
      const auto at = static_cast<std::size_t>(i * sizes.n + j);
      const double rounding = static_cast<double>(sizes.k + 2) * 0x1p-52;
      call.outputs[0].reals[at] = alpha * sum;
      call.outputs[0].bounds[at] = std::fabs(alpha) * (bound * (1 + rounding) + size * rounding);
    }
}

}  // namespace

OpaqueFunction gemm() { return {.enqueue = enqueue, .reference = reference}; }

OpaqueFunction reversed() {
  return {.enqueue =
              [](const OpaqueCall& call) {
                if (call.workspace_bytes != call.inputs[0].bytes()) return 1;
                if (reinterpret_cast<std::uintptr_t>(call.workspace) % 256 != 0) return 2;
                const HostElements x(call.inputs[0]);
                OpaqueArray memory = call.inputs[0];
                memory.data = call.workspace;
                const HostElements kept(memory);
                const HostElements y(call.outputs[0]);
                const HostElements sum(call.outputs[1]);
                const std::int64_t count = call.inputs[0].elements();
                call.on_host([=] {
                  double total = 0;
                  for (std::int64_t i = 0; i < count; ++i) {
                    kept.set(count - 1 - i, x.get(i));
                    total += x.get(i);
                  }
                  sum.set(0, total);
                });
                call.on_host([=] {
                  for (std::int64_t i = 0; i < count; ++i) y.set(i, kept.get(i));
                });
                return 0;
              },
          .workspace = [](const OpaqueSizes& sizes) { return sizes.inputs[0].bytes(); },
          .reference =
              [](const OpaqueReference& call) {
                const std::span<const double> x = call.inputs[0].reals;
                std::ranges::reverse_copy(x, call.outputs[0].reals.begin());
                std::ranges::reverse_copy(call.inputs[0].bounds, call.outputs[0].bounds.begin());
              }};
}

}  // namespace sinter::test
