// What crosses memory between kernels: never what its readers can make from what is there anyway.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/plan.h"
#include "sinter/text.h"

namespace sinter {
namespace {

using testing::SizeIs;

std::int64_t temporary_bytes(const Program& program) {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : program.buffers)
    if (buffer.kind == Buffer::Kind::temporary) bytes += bytes_of(buffer, {});
  return bytes;
}

/// Another kernel needs the values without their mean: it takes the mean, not the values.
TEST(RecomputeTest, FromResultsOfReductions) {
  const Program program = plan(parse(R"(
graph norm_then_pool(x: bf16[4, 1024, 7, 7]) {
  f = cast x {to = f32}
  v, m = var_mean f {axes = [0, 2, 3], keep = true}
  d = sub f, m
  e = add v, 1e-5
  r = rsqrt e
  y = mul d, r
  p = mean y {axes = [2, 3]}
  return p, m
})"),
                               *find_target("h200"), {}, {});
  ASSERT_THAT(program.kernels, SizeIs(1));
  EXPECT_THAT(program.kernels[0].members, SizeIs(2));
  // Two numbers per channel at most, and none that is a result already.
  EXPECT_LE(temporary_bytes(program), 2 * 1024 * 4);
}

/// What was rounded to bf16 crosses memory as that, though its readers want it as f32.
TEST(RecomputeTest, WidensBehindMemory) {
  const Program program = plan(parse(R"(
graph response_norm(x: bf16[128, 49, 2560]) {
  f = cast x {to = f32}
  e = erf f
  e2 = erf e
  e3 = erf e2
  g = mul f, e3
  rounded = cast g {to = bf16}
  wide = cast rounded {to = f32}
  q = mul wide, wide
  s = sum q {axes = [1], keep = true}
  m = mean s {axes = [2], keep = true}
  d = div s, m
  y = mul wide, d
  return y
})"),
                               *find_target("h200"), {}, {});
  // The values as bf16, and what is one per column or sample.
  EXPECT_LE(temporary_bytes(program), 2 * 128 * 49 * 2560 + 4 * 128 * 2561);
}

}  // namespace
}  // namespace sinter
