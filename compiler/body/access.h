// Plans the values that each pass over the reduced axis needs, and how wide an access may be.
#pragma once

#include <functional>
#include <numeric>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// The values that each pass over the reduced axis computes, among those that vary along it.
struct PassPlan {
  std::vector<std::vector<bool>> needed;  ///< [pass][value]
  std::vector<int> kept;  ///< computed in one pass and kept for later ones, by ascending number
  std::vector<int> first_pass;  ///< [value]: the first pass that needs it; -1: none
};

/// Plans a kernel that keeps nothing: each pass recomputes all values that it needs.
PassPlan plan_passes(const Body& body);
/// Plans a kernel that keeps its rows: values of an earlier pass are kept if a later pass uses them
/// directly. Keeps a load rather than a cast of it.
PassPlan plan_resident_passes(const Body& body);
/// The same for column kernels: values that are equal for all columns are loaded again instead of
/// kept per column.
PassPlan plan_column_passes(const Body& body);
/// The same for kernels that load each row before they compute: all loads of the row are kept.
PassPlan plan_loaded_passes(const Body& body);
/// True for a load whose elements are the same in every row.
bool is_same_in_rows(const Body& body, const Value& value);
/// The number of passes that compute or load a value.
int loads_of(const PassPlan& plan, std::size_t value);
/// The last pass that needs a value; -1: none.
int last_pass(const PassPlan& plan, std::size_t value);
/// For each pass: the sum of `of` over its reductions.
std::vector<std::int64_t> sums_by_pass(const Body& body,
                                       const std::function<std::int64_t(const Node&)>& of);
/// The maximum over passes of the live kept bytes between a pass and the next, per element of a
/// row.
int kept_bytes_per_element(const Body& body, const PassPlan& plan);

/// The slots of kept values in shared memory. Values with disjoint live ranges share a slot.
struct KeptSlots {
  std::vector<int> slot_of;  ///< of each value in PassPlan::kept
  std::vector<int> bytes;    ///< per element, of each slot
  int bytes_per_element() const { return std::accumulate(bytes.begin(), bytes.end(), 0); }
};
KeptSlots kept_slots(const Body& body, const PassPlan& plan);
/// Bytes of one element of a kept value: as loaded, or as computed.
int kept_bytes(const Value& value);

/// The stride of `at` along `axis` between the elements of a vector; nullopt if it is not constant.
/// Vectors start at multiples of `width`. A quotient by a multiple of `width` is therefore constant
/// within a vector, and a remainder has the stride of its numerator.
std::optional<Extent> step_along(const Index& at, int axis, int width, const Facts& facts);
/// The widest power of two <= `limit` for which `at` is a multiple of the vector width at every
/// vector along `axis`. 1 if `at` does not have a stride of 1 along `axis`.
int aligned_vector(const Index& at, int axis, int limit, const Facts& facts);
/// True if `at` is a sum of multiples of axes and a constant.
bool is_affine(const Index& at);
/// The number of adjacent elements that one access may cover in a vector of `width` along `axis`.
/// Element 0 is aligned to `alignment` bytes, and the axis has `extent` positions. The result is
/// `width`, or a power of two that divides every vector, including the last one of the axis. One
/// instruction moves at most 16 bytes.
int widest_access(const Index& at, DType dtype, std::int64_t alignment, Extent extent, int axis,
                  int width, const Facts& facts);
/// Adjacent elements within a vector that are read at once, if the whole vector cannot be.
struct PartialVector {
  int each = 1;
  bool is_same = false;  ///< all are the same element
};
/// At most `most` elements along `axis`; element 0 is aligned to `alignment` bytes.
PartialVector partial_vector_along(const Index& at, DType dtype, std::int64_t alignment, int axis,
                                   int most, const Facts& facts);
/// True if `condition` holds at all elements of a vector of `width` along `axis`, or at none.
bool is_same_along(const Condition& condition, int axis, int width, const Facts& facts);

/// Narrows the positions [begin, end) of `axis` to those where `condition` holds. Ignores
/// conditions that depend on other axes or have another stride than 1 and -1.
void narrow_range(Extent& begin, Extent& end, int axis, const Condition& condition);

/// The largest power of two up to 16 that provably divides `extent`, from its form and from the
/// known divisors of its symbols.
std::int64_t divisor_of(Extent extent, const Facts& facts);

}  // namespace sinter
