// Helpers of the oracle's tests: short ways to write arrays and to evaluate one tensor.
#pragma once

#include "ir/oracle/interpret.h"
#include "ir/shape/host_array.h"
#include "ir/types/casts.h"
#include "sinter/error.h"
#include "sinter/ops.h"

#include <initializer_list>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace sinter {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// An array of integers, in row-major order.
inline HostArray integer_array(DType dtype, std::vector<std::int64_t> shape,
                               std::span<const std::int64_t> values) {
  HostArray result(dtype, std::move(shape));
  ensure(static_cast<std::int64_t>(values.size()) == result.size(), "one value per element");
  for (std::size_t i = 0; i < values.size(); ++i)
    result.set_integer_at(static_cast<std::int64_t>(i), values[i]);
  return result;
}
/// An array of `values` in row-major order, each converted to `dtype`.
inline HostArray array(DType dtype, std::vector<std::int64_t> shape,
                       const std::vector<double>& values) {
  if (!is_floating(dtype)) {
    std::vector<std::int64_t> integers;
    for (const double value : values)
      integers.push_back(to_storage_bits(cast_to_integer(dtype, value)));
    return integer_array(dtype, std::move(shape), integers);
  }
  HostArray result(dtype, std::move(shape));
  ensure(static_cast<std::int64_t>(values.size()) == result.size(), "one value per element");
  for (std::size_t i = 0; i < values.size(); ++i)
    result.set_real_at(static_cast<std::int64_t>(i), values[i]);
  return result;
}
/// A vector of numbers.
inline HostArray array(DType dtype, const std::vector<double>& values) {
  return array(dtype, {static_cast<std::int64_t>(values.size())}, values);
}

/// The value of `tensor` for inputs given by name.
inline Expected value_of(Graph& graph, Tensor tensor, const HostArrays& inputs,
                         std::vector<std::int64_t> symbols = {}) {
  const Node* const nodes[] = {tensor.node()};
  return interpret_nodes(graph.data(), inputs, symbols, nodes)[0];
}

/// The value of `record` applied to one input called x.
template <class Record>
Expected value_of(const HostArray& x, const Record& record) {
  Graph graph("test");
  const std::vector<Extent> shape(x.shape().begin(), x.shape().end());
  const Tensor result = record(graph.input("x", x.dtype(), shape));
  return value_of(graph, result, {{"x", x}});
}

/// The value of `record` applied to two inputs called x and y.
template <class Record>
Expected value_of(const HostArray& x, const HostArray& y, const Record& record) {
  Graph graph("test");
  const std::vector<Extent> shape_x(x.shape().begin(), x.shape().end());
  const std::vector<Extent> shape_y(y.shape().begin(), y.shape().end());
  const Tensor a = graph.input("x", x.dtype(), shape_x);
  const Tensor b = graph.input("y", y.dtype(), shape_y);
  return value_of(graph, record(a, b), {{"x", x}, {"y", y}});
}

}  // namespace sinter
