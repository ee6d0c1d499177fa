// Helpers of the gradient tests: central differences for every element of every input.
#pragma once

#include "ir/verify/verify.h"
#include "sinter/gradient.h"
#include "tests/support/graphs/nn_support.h"

#include <algorithm>
#include <functional>
#include <random>

namespace sinter {

using Record = std::function<Tensor(const Tensors&)>;
using Arrays = std::vector<HostArray>;

inline Reals uniform(std::int64_t count, double low, double high, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  Reals values(static_cast<std::size_t>(count));
  for (double& value : values) value = std::uniform_real_distribution<double>(low, high)(random);
  return values;
}

inline HostArray random(std::vector<std::int64_t> shape, double low = -2, double high = 2,
                        std::uint64_t seed = 1) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return array(f64, std::move(shape), uniform(count, low, high, seed));
}

/// Multiples of 1/64, which are exact in f32 too, also after a step of 2^-10.
inline HostArray sixtyfourths(DType dtype, std::vector<std::int64_t> shape,
                              std::uint64_t seed = 1) {
  const HostArray any = random(shape, -2, 2, seed);
  Reals values;
  for (std::int64_t i = 0; i < any.size(); ++i)
    values.push_back(std::nearbyint(any.real_at(i) * 64) / 64);
  return array(dtype, std::move(shape), values);
}

/// A scalar loss: the weighted sum of all elements of `record`'s result, with different weights.
struct Loss {
  Graph graph{"loss"};
  Tensors inputs;
  HostArrays values;
  Tensor value;

  Loss(const Record& record, const Arrays& arrays) {
    for (const HostArray& array : arrays) {
      const std::string name = "i" + std::to_string(inputs.size());
      const std::vector<Extent> shape(array.shape().begin(), array.shape().end());
      inputs.push_back(graph.input(name, array.dtype(), shape));
      values.emplace(name, array);
    }
    const Tensor y = record(inputs);
    const Tensor places = cast(iota(graph, product(y.shape()), 1), f64);
    const Tensor weights = reshape(sin(places * 1.7), y.shape());
    value = sum(cast(y, f64) * weights);
  }

  double with(std::size_t input, std::int64_t element, double difference) {
    HostArrays moved = values;
    HostArray& array = moved.at("i" + std::to_string(input));
    array.set_real_at(element, array.real_at(element) + difference);
    return value_of(graph, value, moved).real(0);
  }
};

/// Expects the gradient of each floating input of `record` to be near the central difference,
/// element by element.
inline void expect_differences(const Record& record, const Arrays& arrays, double step = 0x1p-17) {
  Loss loss(record, arrays);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!is_floating(arrays[i].dtype())) continue;
    const Tensor derivative = gradient(loss.value, {loss.inputs[i]})[0];
    loss.graph.output("d" + std::to_string(i), derivative);
    verify(loss.graph);
    const Expected found = value_of(loss.graph, derivative, loss.values);
    ASSERT_EQ(found.dtype, arrays[i].dtype());
    ASSERT_TRUE(std::ranges::equal(found.shape, arrays[i].shape()));
    for (std::int64_t k = 0; k < found.size(); ++k) {
      const double high = loss.with(i, k, step);
      const double slope = (high - loss.with(i, k, -step)) / (2 * step);
      EXPECT_NEAR(found.real(k), slope, 1e-6 * (1 + std::fabs(slope)))
          << "input " << i << ", element " << k;
    }
  }
}

}  // namespace sinter
