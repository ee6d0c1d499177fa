// Helpers of the oracle's tests: short ways to write arrays and to evaluate one tensor.
#pragma once

#include "ir/oracle/interpret.h"
#include "ir/shape/host_array.h"
#include "sinter/ops.h"

#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

namespace sinter {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

inline HostArray array(DType dtype, std::vector<std::int64_t> shape, std::vector<double> values) {
  return HostArray::from_values(dtype, std::move(shape), values);
}
/// A vector of numbers.
inline HostArray array(DType dtype, std::vector<double> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return HostArray::from_values(dtype, {count}, values);
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
