// Families of reductions and scans whose results must not depend on the schedule. The host and gpu
// tiers run them in every dtype, over aligned, odd and prime extents.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/program/schedule.h"
#include "sinter/dtype.h"

namespace sinter::test {

/// Reductions of some axes of an input, for an aligned, an odd and a prime extent.
struct ReductionFamily {
  std::string name;
  std::vector<std::string_view> shapes;  // of the inputs x0, x1 …
  std::string_view reduced = "";         // the axes, as in the text of a graph; "": no reduction
  int axis = -1;                         // of argmax; -1: no argmax
  bool has_wide_states = true;           // includes reductions with several numbers per state
  bool has_variance = true;              // includes var_mean, one of them
  std::string_view kind;                 // the kernel kind that the family tests
  /// True for a schedule that the family tests, which one candidate must have. Null: any schedule.
  bool (*is_tested_schedule)(const Schedule& schedule) = nullptr;
  std::string_view statements = "";  // further statements; {x} is the input's name
  std::string_view results = "";     // further results of these statements
};

inline void PrintTo(const ReductionFamily& family, std::ostream* out) { *out << family.name; }

std::vector<ReductionFamily> reduction_families();
std::vector<DType> reduction_dtypes();

/// The text of a graph with one input per shape, of the family's own shapes or of `shapes`.
std::string graph_text(const ReductionFamily& family, DType dtype);
std::string graph_text(const ReductionFamily& family, DType dtype,
                       const std::vector<std::string_view>& shapes);

}  // namespace sinter::test
