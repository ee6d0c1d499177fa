// Families of reductions and scans whose results must not depend on the schedule: what the host and
// the gpu tier run in every dtype, over aligned, odd and prime extents.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/program/schedule.h"
#include "sinter/dtype.h"

namespace sinter::test {

/// How the axes of an input are reduced, and over which extents: an aligned, an odd, a prime one.
struct ReductionFamily {
  std::string name;
  std::vector<std::string_view> shapes;  // of the inputs x0, x1 …
  std::string_view reduced = "";         // the axes, as in the text of a graph; "": none
  int axis = -1;                         // of argmax; -1: not in this family
  bool has_wide_states = true;           // reductions that keep more than one number
  bool has_variance = true;              // one of these in two passes
  std::string_view kind;                 // of the kernels that it is about
  /// What a candidate of theirs has; null: anything.
  bool (*has)(const Schedule& schedule) = nullptr;
  std::string_view more = "";     // further statements; {x} is the input's name
  std::string_view results = "";  // and what they add to the results
};

inline void PrintTo(const ReductionFamily& family, std::ostream* out) { *out << family.name; }

std::vector<ReductionFamily> reduction_families();
std::vector<DType> reduction_dtypes();

/// All that is made of inputs of these shapes, or of the family's own.
std::string graph_text(const ReductionFamily& family, DType dtype);
std::string graph_text(const ReductionFamily& family, DType dtype,
                       const std::vector<std::string_view>& shapes);

}  // namespace sinter::test
