// The graph that an import records, and the weights that belong to it.
#pragma once

#include "ir/shape/host_array.h"
#include "sinter/graph.h"
#include "tools/onnx/values/names.h"
#include "tools/onnx/values/value.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::onnx {

/// An input of the recorded graph whose contents the model gives.
struct Weight {
  std::string name;
  std::shared_ptr<const HostArray> array;
};

/// The one element of `array`.
Literal literal_of(const HostArray& array);

struct Recording {
  explicit Recording(std::string_view name) : graph(name) {}

  /// The tensor of `value`. A constant of one element becomes a number in the text, and other
  /// constants become weights. Extents become ops.
  Tensor tensor(Value& value);

  /// The seed of random numbers: an input of the graph whose default is 0.
  Tensor random_seed();

  Graph graph;
  UniqueNames names;
  std::vector<Weight> weights;
  std::int64_t table_bytes = 0;   ///< of weights that the importer has computed
  std::int64_t random_draws = 0;  ///< nodes that draw random numbers, so far

 private:
  Tensor constant(const HostArray& array);
  Tensor weight(std::string_view name, std::shared_ptr<const HostArray> array);
  Tensor extents(const KnownValue& value);

  Tensor random_seed_;
};

}  // namespace sinter::onnx
