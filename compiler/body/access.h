// Which values each pass over the reduced axis needs, and how wide an access may be.
#pragma once

#include <span>
#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// What each pass over the reduced axis computes, of the values that vary along it.
struct PassPlan {
  std::vector<std::vector<bool>> needed;  ///< [pass][value]
  std::vector<int> kept;  ///< computed in one pass and kept for later ones, by ascending number
  std::vector<int> first_pass;  ///< [value]: the first pass that needs it; -1: none
};

/// The passes of a kernel that keeps nothing: each pass computes all it needs again.
PassPlan plan_passes(const Body& body);
/// The passes of a kernel that keeps its rows: values that an earlier pass computed are kept where
/// a later one uses them directly. Loads are kept rather than what a cast makes of them.
PassPlan plan_resident_passes(const Body& body);
/// The same for kernels of columns: what is the same for all columns is read again rather than kept
/// for each of them.
PassPlan plan_column_passes(const Body& body);
/// The same where each row is loaded before anything is done with it: all its loads are kept.
PassPlan plan_loaded_passes(const Body& body);
/// True for a load whose elements are the same in every row.
bool is_same_in_rows(const Body& body, const Value& value);
/// The most bytes of a row's kept values that are alive from one pass to the next, per element.
int kept_bytes_per_element(const Body& body, const PassPlan& plan);

/// The places of kept values in shared memory: a value may take the place of one that no pass needs
/// any more.
struct KeptSlots {
  std::vector<int> slot_of;  ///< of each value in PassPlan::kept
  std::vector<int> bytes;    ///< per element, of each slot
};
KeptSlots kept_slots(const Body& body, const PassPlan& plan);
/// Bytes of one element of a value that is kept: as loaded, or as computed.
int kept_bytes(const Value& value);

/// How far `at` moves from each element of a vector along `axis` to the next, where it is equally
/// far for all. Vectors start at multiples of `width`; so a quotient by such a multiple stands
/// still within them, and a remainder moves as what it is of.
std::optional<Extent> step_along(const Index& at, int axis, int width, const Facts& facts);
/// The widest power of two <= `limit` that a vector of consecutive elements along `axis` may have
/// for its address `at` to be a multiple of it. 1 if the axis does not move the address by 1.
int aligned_vector(const Index& at, int axis, int limit, const Facts& facts);
/// True if `at` is a sum of multiples of axes and a constant.
bool is_affine(const Index& at);
/// How many neighbours of a vector of `width` along `axis`, of the given extent, may be accessed at
/// once where element 0 is aligned to so many bytes: all of them, or as many as any vector has
/// several times, at the end of the axis too. At most 16 bytes are one instruction.
int widest_access(const Index& at, DType dtype, std::int64_t alignment, Extent extent, int axis,
                  int width, const Facts& facts);
/// Neighbours within a vector that are read at once, though not the whole of it is.
struct FewOfVector {
  int each = 1;
  bool is_same = false;  ///< they are one element
};
/// At most `most` along `axis`, where element 0 is aligned to so many bytes.
FewOfVector few_along(const Index& at, DType dtype, std::int64_t alignment, int axis, int most,
                      const Facts& facts);
/// True if `condition` holds at all elements of a vector of `width` along `axis`, or at none.
bool is_same_along(const Condition& condition, int axis, int width, const Facts& facts);

/// The largest power of two up to 16 that is known to divide `extent`, by its own text and by what
/// is known of the symbols in it.
std::int64_t divisor_of(Extent extent, const Facts& facts);

}  // namespace sinter
