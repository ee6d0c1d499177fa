// Splits the loop over the elements of a vector, for CPUs.
#pragma once

#include <span>
#include <vector>

#include "compiler/body/body.h"

namespace sinter {

/// A part of a loop over the elements of a vector. Its values are indices into Body::values.
struct ElementLoop {
  std::vector<int> loaded;  ///< values that earlier loops saved and this one uses
  std::vector<int> values;
  std::vector<int> saved;  ///< those of `values` that later loops use
};

/// Splits a loop that computes `values`, in this order, into several ones. The window in which a
/// CPU reorders instructions holds few iterations of a long loop. Each of its chains of dependent
/// operations would then run alone, at the latency of the operations.
std::vector<ElementLoop> split_element_loop(const Body& body, std::span<const int> values);

}  // namespace sinter
