// What a body touches: elements per load, and which values each pass over the reduced axis needs.
#pragma once

#include <span>
#include <vector>

#include "compiler/body.h"
#include "compiler/kernel.h"

namespace sinter {

/// Distinct elements that `value`, a load, touches in the whole kernel. Exact for affine accesses; for
/// reads through data the size of what is read, or of the space if that is smaller.
Extent touched_elements(const Body& body, const Value& value);
/// Distinct elements that `store` writes.
Extent stored_elements(const Body& body, const BodyStore& store);

/// needs[pass][value]: whether `value`, which varies along the reduced axis, is needed in `pass` when
/// nothing but `kept` is kept from earlier passes.
std::vector<std::vector<bool>> values_needed(const Body& body, std::span<const int> kept = {});

/// Values that a kernel with resident rows computes in one pass and needs in a later one: for each
/// pass but the last, what must be kept. Loads are kept rather than what a cast makes of them.
std::vector<int> values_kept(const Body& body);

/// The widest power of two <= `limit` that divides every coefficient of `at` but the one of `axis`, and
/// its constant: how many elements along `axis` a vector may hold for its address to be aligned. 1
/// if the axis does not move the address by exactly 1.
int aligned_vector(const Index& at, int axis, int limit, const Facts& facts);

/// The largest power of two up to 16 that is known to divide `extent`, by its own text and by what is
/// known of the symbols in it.
std::int64_t divisor_of(Extent extent, const Facts& facts);

}  // namespace sinter
