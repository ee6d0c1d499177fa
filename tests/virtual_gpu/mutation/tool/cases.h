// The graphs whose kernels the mutation test examines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sinter/sinter.h"
#include "tests/support/files/golden.h"

namespace sinter::virtual_gpu::mutation {

/// One graph at one size, planned for one GPU.
struct Case {
  std::string name;  ///< `patterns/softmax of 33`, `run/scatter on sm_75`, `…, candidate 2`
  std::string text;
  test::GoldenSizes sizes = {};
  /// Properties in which the planned GPU differs from the virtual one: see test::Pattern.
  test::GoldenSizes chip = {};
  int capability = 90;
  int sm_count = 2;    ///< of the virtual GPU. With few SMs, blocks have several rounds of work
  int candidate = -1;  ///< of every kernel; -1: the default schedules
};

/// - For each file in tests/golden/patterns, one pattern for each form of its kernels, at a small
///   size;
/// - some other graphs;
/// - for some patterns, also their candidates, and the defaults on sm_75.
std::vector<Case> all_cases();

/// The case with this name. Throws UserError if there is none.
Case find_case(const std::string& name);

}  // namespace sinter::virtual_gpu::mutation
