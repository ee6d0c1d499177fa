// Helpers of the tests of sinter/nn.h: graphs of several inputs, and comparison with closed forms.
#pragma once

#include "sinter/nn.h"
#include "tests/support/graphs/oracle_support.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sinter {

using Reals = std::vector<double>;
using Tensors = std::vector<Tensor>;

/// The value of `record` applied to one input per array.
template <class Record>
Expected value_of(const std::vector<HostArray>& arrays, const Record& record) {
  Graph graph("test");
  Tensors inputs;
  HostArrays named;
  for (const HostArray& array : arrays) {
    const std::string name = "i" + std::to_string(inputs.size());
    const std::vector<Extent> shape(array.shape().begin(), array.shape().end());
    inputs.push_back(graph.input(name, array.dtype(), shape));
    named.emplace(name, array);
  }
  return value_of(graph, record(inputs), named);
}

/// Expects `value`, computed in f64, to equal `wanted` up to some roundings.
inline void expect_close(const Expected& value, const std::vector<long double>& wanted) {
  ASSERT_EQ(value.dtype, f64);
  ASSERT_EQ(value.reals.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto exact = static_cast<double>(wanted[i]);
    EXPECT_NEAR(value.reals[i], exact, 1e-13 * (1 + std::fabs(exact))) << "element " << i;
  }
}

}  // namespace sinter
