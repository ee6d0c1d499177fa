#include "compiler/program/kernel.h"

#include <algorithm>

#include "ir/support/checked_arithmetic.h"

namespace sinter {

std::string_view name(KernelKind kind) {
  switch (kind) {
    case KernelKind::pointwise: return "pointwise";
    case KernelKind::row_reduce: return "row_reduce";
    case KernelKind::column_reduce: return "column_reduce";
    case KernelKind::row_column_reduce: return "row_column_reduce";
    case KernelKind::scatter: return "scatter";
    case KernelKind::scan: return "scan";
    case KernelKind::full_reduce: return "full_reduce";
    case KernelKind::horizontal: return "horizontal";
    case KernelKind::opaque: return "opaque";
  }
  return {};
}

int phases(const Kernel& kernel) {
  return kernel.sections.empty() ? 1 : kernel.sections.back().phase + 1;
}

std::int64_t elements_of(const Buffer& buffer, std::span<const std::int64_t> symbols) {
  return std::max<std::int64_t>(0, evaluate(buffer.elements, symbols));
}

std::int64_t bytes_of(const Buffer& buffer, std::span<const std::int64_t> symbols) {
  return checked_product(elements_of(buffer, symbols), size_of(buffer.dtype));
}

Extent iterations(const Kernel& kernel) { return product(kernel.parallel) * kernel.reduced; }

bool iterations_fit(const Program& program, const Kernel& kernel) {
  return evaluate(iterations(kernel), program.facts.symbols) <= kLargestIndex;
}

bool buffers_fit(const Program& program) {
  return std::ranges::all_of(program.buffers, [&](const Buffer& buffer) {
    return elements_of(buffer, program.facts.symbols) <= kLargestIndex;
  });
}

bool fits_32_bits(const Program& program, const Kernel& kernel) {
  return iterations_fit(program, kernel) && buffers_fit(program);
}

}  // namespace sinter
