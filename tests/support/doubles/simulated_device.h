// A simulated device for tests of the oracle. It has float arithmetic, functions with random errors
// of up to the op table's ulp, and tree reductions over shuffled elements.
#pragma once

#include "ir/graph/node.h"
#include "ir/shape/host_array.h"
#include "ir/types/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace sinter::simulated {

using Random = std::mt19937_64;

inline std::int64_t pick(Random& random, std::int64_t count) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count));
}

inline float rounded(DType dtype, float value) {
  if (dtype == f16) return f16_value(f16_bits(value));
  return dtype == bf16 ? bf16_value(bf16_bits(value)) : value;
}

/// One level of the reduction tree of the numerics contract. Every accumulator starts as
/// `identity`.
template <class State, class Take, class Merge>
State fold_tree(std::span<const float> elements, State identity, Take take, Merge merge) {
  const auto n = static_cast<std::int64_t>(elements.size());
  const std::int64_t chunks = (n + 3) / 4;
  const std::int64_t parts =
      std::clamp<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n / 4096)), 1, 1024);
  const std::int64_t k = std::max<std::int64_t>((chunks + parts - 1) / parts, 1);
  const auto width = std::min<std::size_t>(512, std::bit_ceil(static_cast<std::uint64_t>(k)));
  const auto halve = [&](std::vector<State> states) {
    for (std::size_t half = states.size() / 2; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) states[i] = merge(states[i], states[i + half]);
    return states[0];
  };
  std::vector<State> results;
  for (std::int64_t part = 0; part < parts; ++part) {
    std::vector<State> states(width, identity);
    for (std::int64_t i = 4 * part * k; i < std::min(4 * (part + 1) * k, n); ++i) {
      State& state = states[static_cast<std::size_t>((i / 4 - part * k)) % width];
      state = take(state, elements[static_cast<std::size_t>(i)]);
    }
    results.push_back(halve(std::move(states)));
  }
  return halve(std::move(results));
}

inline float tree_sum(std::span<const float> x) {
  const auto add = [](float a, float b) { return a + b; };
  return fold_tree(x, -0.0F, add, add);
}

struct Moments {
  float count = 0;
  float mean = 0;
  float squares = 0;
};

inline Moments update(Moments m, float x) {
  const float delta = x - m.mean;
  m.count += 1;
  m.mean += delta / m.count;
  m.squares += delta * (x - m.mean);
  return m;
}

inline Moments merge(Moments a, Moments b) {
  if (b.count == 0) return a;
  if (a.count == 0) return b;
  const float count = a.count + b.count;
  const float delta = b.mean - a.mean;
  return {.count = count,
          .mean = a.mean + delta * (b.count / count),
          .squares = a.squares + b.squares + delta * delta * (a.count * (b.count / count))};
}

inline float two_pass(std::span<const float> x) {
  const float mean = tree_sum(x) / static_cast<float>(x.size());
  std::vector<float> squares;
  for (const float value : x) squares.push_back((value - mean) * (value - mean));
  return tree_sum(squares);
}

/// `value` moved by a random number of floats, at most `ulp`, up or down.
inline float off(Random& random, float value, int ulp) {
  if (value == 0) return value;
  const std::int64_t steps = ulp == 0 ? 0 : pick(random, 2 * ulp + 1) - ulp;
  for (std::int64_t i = 0; i < std::abs(steps); ++i)
    value = std::nextafter(value, steps < 0 ? -HUGE_VALF : HUGE_VALF);
  return value;
}

struct Exponentials {
  float largest = -HUGE_VALF;
  float total = 0;
};

inline float logsumexp_of(std::span<const float> x, Random& random) {
  const auto join = [&](Exponentials a, Exponentials b) {
    if (a.largest < b.largest) std::swap(a, b);
    const float apart = a.largest == b.largest ? 0 : b.largest - a.largest;
    const auto scale = static_cast<float>(std::exp(double{apart}));
    a.total += b.total * off(random, scale, info(Op::exp).ulp);
    return a;
  };
  const auto take = [&](Exponentials a, float element) {
    return join(a, {.largest = element, .total = 1});
  };
  const Exponentials all = fold_tree(x, Exponentials{}, take, join);
  const auto logarithm = static_cast<float>(std::log(double{all.total}));
  return all.largest + off(random, logarithm, info(Op::log).ulp);
}

inline float reduce(const Node& node, std::vector<float> x, Random& random) {
  std::shuffle(x.begin(), x.end(), random);
  const auto n = static_cast<float>(x.size());
  switch (node.op) {
    case Op::sum: return tree_sum(x);
    case Op::mean: return tree_sum(x) / n;
    case Op::max: return *std::max_element(x.begin(), x.end());
    case Op::min: return *std::min_element(x.begin(), x.end());
    case Op::logsumexp: return logsumexp_of(x, random);
    default: {
      const float deviations =
          random() % 2 ? two_pass(x) : fold_tree(x, Moments{}, update, merge).squares;
      return deviations / n;
    }
  }
}

/// Evaluates a graph on the simulated device. Values have the shape [rows or 1, columns or 1].
class Device {
 public:
  Device(const Graph& graph, const HostArrays& inputs, std::uint64_t seed) : random_(seed) {
    for (const Node* node : graph.data().nodes) {
      const std::vector<std::int64_t> shape = shape_of(*node);
      HostArray result(node->dtype, shape);
      if (node->op == Op::input)
        result = inputs.at(
            graph.data().inputs[static_cast<std::size_t>(node->attributes[0].integer)].name);
      else if (is_reduction(node->op))
        reduce_into(result, *node);
      else
        for (std::int64_t i = 0; i < result.size(); ++i)
          set(result, i, element(*node, unravel_index(shape, i)));
      values_.push_back(std::move(result));
    }
  }

  const HostArray& value(const Node* node) const { return values_[node->id]; }

 private:
  static std::vector<std::int64_t> shape_of(const Node& node) {
    std::vector<std::int64_t> shape;
    for (const Extent extent : node.shape) shape.push_back(extent.number());
    return shape;
  }

  static void set(HostArray& array, std::int64_t i, float value) {
    if (array.dtype() == boolean)
      array.set_integer_at(i, value != 0);
    else
      array.set_real_at(i, rounded(array.dtype(), value));
  }

  float element(const Node& node, const std::vector<std::int64_t>& index) {
    if (node.op == Op::constant) return static_cast<float>(as_real(node.attributes[0].literal));
    float x[3] = {};
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      const HostArray& operand = values_[node.operand(k)->id];
      std::vector<std::int64_t> at(
          index.end() - static_cast<std::ptrdiff_t>(operand.shape().size()), index.end());
      for (std::size_t axis = 0; axis < at.size(); ++axis)
        if (operand.shape()[axis] == 1) at[axis] = 0;
      x[k] = static_cast<float>(operand.real(at));
    }
    return off(random_, apply(node.op, x), info(node.op).ulp);
  }

  static float apply(Op op, const float* x) {
    switch (op) {
      case Op::add: return x[0] + x[1];
      case Op::sub: return x[0] - x[1];
      case Op::mul: return x[0] * x[1];
      case Op::div: return x[0] / x[1];
      case Op::maximum: return std::max(x[0], x[1]);
      case Op::fma: return std::fma(x[0], x[1], x[2]);
      case Op::lt: return x[0] < x[1];
      case Op::where: return x[0] != 0 ? x[1] : x[2];
      case Op::abs: return std::fabs(x[0]);
      case Op::cast:
      case Op::stop_gradient: return x[0];
      case Op::sqrt: return std::sqrt(x[0]);
      case Op::exp: return static_cast<float>(std::exp(double{x[0]}));
      case Op::log: return static_cast<float>(std::log(double{x[0]}));
      case Op::tanh: return static_cast<float>(std::tanh(double{x[0]}));
      case Op::erf: return static_cast<float>(std::erf(double{x[0]}));
      case Op::rsqrt: return static_cast<float>(1 / std::sqrt(double{x[0]}));
      default: ADD_FAILURE() << "no " << info(op).name << " here"; return 0;
    }
  }

  void reduce_into(HostArray& result, const Node& node) {
    const HostArray& from = values_[node.operand(0)->id];
    const bool rows_go = reduced_axes(node)[0] == 0;
    for (std::int64_t i = 0; i < result.size(); ++i) {
      std::vector<float> group;
      for (std::int64_t k = 0; k < from.shape()[rows_go ? 0 : 1]; ++k) {
        const std::int64_t index[] = {rows_go ? k : i, rows_go ? i : k};
        group.push_back(static_cast<float>(from.real(index)));
      }
      set(result, i, reduce(node, std::move(group), random_));
    }
  }

  Random random_;
  std::vector<HostArray> values_;
};

}  // namespace sinter::simulated
