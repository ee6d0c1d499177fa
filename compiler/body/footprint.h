// Computes how many elements a body reads and writes.
#pragma once

#include "compiler/body/body.h"

namespace sinter {

/// The number of distinct elements that a load touches in the whole kernel.
struct Footprint {
  Extent elements;
  /// Else an upper bound: the load is indirect, or its conditions are too complex.
  bool is_exact = true;
};
Footprint footprint_of(const Body& body, const Value& value);
/// Distinct elements that `store` writes.
Extent stored_elements(const Body& body, const BodyStore& store);

}  // namespace sinter
