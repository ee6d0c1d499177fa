// The oracle: interprets a graph and returns its results with an error bound for every element.
#pragma once

#include "ir/graph/node.h"
#include "ir/shape/host_array.h"
#include "ir/types/wide_integer.h"
#include "sinter/graph.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace sinter {

/// A value computed by the oracle, row-major. A device's element passes if it is within `bound` of
/// the oracle's. An infinite bound means undecided: any result passes. An element is undecided if
/// the error of an operand can change the outcome of a comparison, floor, cast, index or overflow.
struct Expected {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<double> reals;           ///< of floating dtypes
  std::vector<std::int64_t> integers;  ///< of integers and bool; u64 as the same 64 bits
  std::vector<double> bounds;          ///< absolute; empty means all 0

  std::int64_t size() const {
    return static_cast<std::int64_t>(is_floating(dtype) ? reals.size() : integers.size());
  }
  double bound(std::int64_t i) const {
    return bounds.empty() ? 0.0 : bounds[static_cast<std::size_t>(i)];
  }
  bool is_undecided(std::int64_t i) const { return std::isinf(bound(i)); }
  /// The exact element `i` of an integer or bool dtype.
  Wide wide(std::int64_t i) const {
    return from_storage_bits(dtype, integers[static_cast<std::size_t>(i)]);
  }
  /// Element `i` of any dtype as a real; rounded for integers beyond 2^53.
  double real(std::int64_t i) const {
    return is_floating(dtype) ? reals[static_cast<std::size_t>(i)] : static_cast<double>(wide(i));
  }
};

/// The results of a graph: outputs by output name, new contents of updated inputs by input name.
struct Interpretation {
  std::map<std::string, Expected, std::less<>> outputs;
  std::map<std::string, Expected, std::less<>> updates;
};

/// Computes `graph` op by op. `inputs` holds every input by name, and every scalar as an array of
/// rank 0. `symbols` holds the sizes by symbol id, as returned by `symbols_from_sizes`. All nodes
/// read the contents of inputs before any update. Throws UserError on missing inputs, inputs of
/// another dtype or shape, and sizes that check_sizes rejects.
Interpretation interpret(const GraphData& graph, const HostArrays& inputs,
                         std::span<const std::int64_t> symbols);
inline Interpretation interpret(const Graph& graph, const HostArrays& inputs,
                                std::span<const std::int64_t> symbols) {
  return interpret(graph.data(), inputs, symbols);
}

/// The values of any nodes of `graph`, in the order of `nodes`.
std::vector<Expected> interpret_nodes(const GraphData& graph, const HostArrays& inputs,
                                      std::span<const std::int64_t> symbols,
                                      std::span<const Node* const> nodes);

/// The values without their bounds, row-major.
HostArray to_array(const Expected& value);

}  // namespace sinter
