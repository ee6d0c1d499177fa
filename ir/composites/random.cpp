// Random numbers, composed from philox and iota.
#include "ir/record/composite.h"
#include "ir/record/index_operands.h"
#include "sinter/views.h"

#include <cmath>

#include <fmt/format.h>

namespace sinter {

namespace {

/// Random word `step` · i + `first` for each element i of `shape`, counted in row-major order.
Tensor random_words(std::string_view op, const Operand& seed, Extents shape, const Operand& offset,
                    std::int64_t first, std::int64_t step) {
  graph_of(op, seed);
  const Operand* const both[] = {&seed, &offset};
  GraphData& data = graph_of(op, both);
  check_shape(op, shape, seed.location);
  for (const Operand* number : both)
    if (!number->is_literal() &&
        (number->tensor.rank() != 0 || !is_integer(number->tensor.dtype())))
      fail(op,
           fmt::format("the seed or offset is {}; it must be an integer of rank 0",
                       type_text(*number->tensor.node())),
           seed.location);
  const Tensor numbers = axis_indices(data, product(shape), seed.location, first, step);
  const Tensor element = reshape(numbers, shape);
  const Tensor key = as_tensor(op, data, seed, u64);
  const Tensor block = as_tensor(op, data, offset, u64);
  return philox(key, block, cast(element, u64));
}

/// The highest `count` of 32 bits as a fraction in [0, 1).
Tensor fraction(Tensor bits, int count, DType dtype) {
  return cast(right_shift(bits, 32 - count), dtype) * std::ldexp(1.0, -count);
}

void check_real(std::string_view op, DType dtype, Location location) {
  if (!is_floating(dtype) || is_f8(dtype) || dtype == c64)
    fail(op, fmt::format("the dtype is {}; it must be f16, bf16, f32 or f64", name(dtype)),
         location);
}

void check_probability(std::string_view op, double probability, Location location) {
  if (!(probability >= 0 && probability <= 1))
    fail(op, fmt::format("the probability {} is not in [0, 1]", probability), location);
}

/// Uniform numbers in [0, 1). `op` names the recording function in messages.
Tensor uniform(std::string_view op, const Operand& seed, Extents shape, DType dtype,
               const Operand& offset) {
  if (dtype == f64) {
    const Tensor high = random_words(op, seed, shape, offset, 0, 2);
    const Tensor low = random_words(op, seed, shape, offset, 1, 2);
    const Tensor coarse = cast(right_shift(high, 5), f64) * 0x1p-27;
    const Tensor fine = cast(right_shift(low, 6), f64) * 0x1p-53;
    return coarse + fine;
  }
  const Tensor bits = random_words(op, seed, shape, offset, 0, 1);
  return fraction(bits, info(dtype).mantissa_bits, dtype);
}

}  // namespace

Tensor random_bits(Operand seed, Extents shape, Operand offset) {
  const LocationScope scope(seed);
  return random_words("random_bits", seed, shape, offset, 0, 1);
}

Tensor random_uniform(Operand seed, Extents shape, DType dtype, Operand offset) {
  const LocationScope scope(seed);
  check_real("random_uniform", dtype, seed.location);
  return uniform("random_uniform", seed, shape, dtype, offset);
}

Tensor random_normal(Operand seed, Extents shape, DType dtype, Operand offset) {
  const LocationScope scope(seed);
  check_real("random_normal", dtype, seed.location);
  const DType compute = dtype == f64 ? f64 : f32;
  const int bits = dtype == f64 ? 32 : 24;
  // In (0, 1], so that the logarithm is finite.
  const Tensor radius_bits = random_words("random_normal", seed, shape, offset, 0, 2);
  const Tensor share = 1.0 - fraction(radius_bits, bits, compute);
  const Tensor radius = sqrt(log(share) * -2.0);
  const Tensor angle_bits = random_words("random_normal", seed, shape, offset, 1, 2);
  const Tensor angle = fraction(angle_bits, bits, compute) * 6.283185307179586;
  return cast(radius * cos(angle), dtype);
}

Tensor random_bernoulli(Operand seed, Extents shape, double probability, Operand offset) {
  const LocationScope scope(seed);
  check_probability("random_bernoulli", probability, seed.location);
  return lt(uniform("random_bernoulli", seed, shape, f32, offset), probability);
}

Tensor dropout(Operand x, Operand seed, double probability, Operand offset) {
  const LocationScope scope(x);
  graph_of("dropout", x);
  const Operand* const all[] = {&x, &seed, &offset};
  graph_of("dropout", all);
  check_probability("dropout", probability, x.location);
  if (probability == 1) return zeros_like(x.tensor);
  const Tensor drops = lt(uniform("dropout", seed, x.tensor.shape(), f32, offset), probability);
  const Tensor scaled = x * (1 / (1 - probability));
  return where(drops, 0, scaled);
}

}  // namespace sinter
