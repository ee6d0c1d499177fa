// How many elements a body reads and writes.
#pragma once

#include "compiler/body/body.h"

namespace sinter {

/// How many distinct elements a load touches in the whole kernel.
struct Footprint {
  Extent elements;
  bool is_exact = true;  ///< else maybe fewer: read through data, or under conditions too tangled
};
Footprint footprint_of(const Body& body, const Value& value);
/// Distinct elements that `store` writes.
Extent stored_elements(const Body& body, const BodyStore& store);

}  // namespace sinter
