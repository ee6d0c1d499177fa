// The body and the traffic of graphs that become one kernel.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "codegen/emit.h"
#include "compiler/body_building/build_body.h"
#include "tests/support/graphs/planned.h"

namespace sinter::test {

/// The body of the one kernel that `text` becomes.
inline Body body_of(std::string_view text) {
  const Program program = planned(text);
  EXPECT_EQ(program.kernels.size(), 1U);
  EXPECT_TRUE(program.kernels[0].sections.empty());
  return sinter::body_of(program, program.kernels[0]);
}

inline std::ptrdiff_t count(const Body& body, Value::Kind kind) {
  return std::ranges::count(body.values, kind, &Value::kind);
}

inline Traffic traffic_of(std::string_view text) {
  const Program program = planned(text);
  return emit(program, program.kernels[0], program.kernels[0].schedule, "kernel").traffic;
}

}  // namespace sinter::test
