// Values that cross memory between kernels: values that readers can recompute from stored arrays do
// not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "compiler/body/footprint.h"
#include "compiler/body_building/build_body.h"
#include "compiler/plan.h"
#include "sinter/text.h"

namespace sinter::rematerialize_test {
namespace {

using testing::SizeIs;

std::int64_t temporary_bytes(const Program& program) {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : program.buffers)
    if (buffer.kind == Buffer::Kind::temporary) bytes += bytes_of(buffer, {});
  return bytes;
}

/// The second kernel recomputes the normalised values from x and the statistics.
TEST(RematerializeTest, RecomputesFromReductionResults) {
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
  EXPECT_THAT(program.kernels[0].sections, SizeIs(2));
  // At most two values per channel, without the mean, which is a result.
  EXPECT_LE(temporary_bytes(program), 2 * 1024 * 4);
}

/// A value that was rounded to bf16 crosses memory as bf16, although its readers use f32.
TEST(RematerializeTest, WidensAfterTheLoad) {
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
  // The values as bf16, and one f32 per column and sample.
  EXPECT_LE(temporary_bytes(program), 2 * 128 * 49 * 2560 + 4 * 128 * 2561);
}

/// The slice of the rows is stored as bf16. Otherwise its readers would read all its operands
/// again.
TEST(RematerializeTest, StoresASliceInsteadOfRecomputingIt) {
  const Program program = plan(parse(R"(
graph norm_backward(g: bf16[25216, 768], w: f32[768], x: f32[128, 197, 768], y: f32[128, 197, 768]) {
  v = reshape g {shape = [128, 197, 768]}
  f = cast v {to = f32}
  m = mul f, w
  s = sum m {axes = [2], keep = true}
  p = mul m, x
  q = sum p {axes = [2], keep = true}
  xq = mul x, q
  d = sub m, s
  dx = sub d, xq
  columns = sum f {axes = [0, 1], keep = false}
  all = add y, dx
  first = slice all {axis = 1, begin = 0, end = 1, step = 1}
  rest = slice all {axis = 1, begin = 1, end = 197, step = 1}
  narrow = cast rest {to = bf16}
  of_first = sum first {axes = [0], keep = true}
  turned = permute narrow {axes = [0, 2, 1]}
  image = reshape turned {shape = [128, 768, 14, 14]}
  channels = sum image {axes = [0, 2, 3], keep = false}
  return columns, of_first, image, channels
})"),
                               *find_target("h200"), {}, {});
  std::int64_t reads = 0;
  for (const Kernel& section : program.kernels.at(0).sections)
    for (const Value& value : body_of(program, section).values)
      if (value.kind == Value::Kind::load && value.node->op == Op::input)
        reads += evaluate(footprint_of(body_of(program, section), value).elements, {});
  // All inputs once, and the operands of the first rows again.
  EXPECT_LE(reads, 3 * 128 * 197 * 768 + 768 + 4 * 128 * 769);
}

/// Two results are fused late. Together they already read most operands of w.
TEST(RematerializeTest, RecomputesInKernelsThatAreFusedLate) {
  const Program program = plan(parse(R"(
graph late(a: bf16[128, 512, 64], g: f32[128, 512, 64], p: bf16[128, 512, 64], q: bf16[128, 512, 64], u: f32[512], v: f32[512]) {
  pf = cast p {to = f32}
  qf = cast q {to = f32}
  af = cast a {to = f32}
  both = add pf, qf
  is_low = le both, 0
  sum = add af, g
  w = where is_low, 0.5, sum
  wq = mul w, qf
  s1 = sum wq {axes = [2]}
  s2 = sum w {axes = [2]}
  wp = mul w, pf
  s3 = sum wp {axes = [2]}
  m1 = mul s1, u
  g1 = reshape m1 {shape = [128, 32, 16]}
  t1 = sum g1 {axes = [2], keep = true}
  e1 = broadcast_to t1 {shape = [128, 32, 16]}
  r1 = reshape e1 {shape = [128, 512, 1]}
  m3 = mul s3, v
  g3 = reshape m3 {shape = [128, 32, 16]}
  t3 = sum g3 {axes = [2], keep = true}
  e3 = broadcast_to t3 {shape = [128, 32, 16]}
  r3 = reshape e3 {shape = [128, 512, 1]}
  x1 = mul qf, r1
  y1 = add w, x1
  z1 = cast y1 {to = bf16}
  x3 = mul pf, r3
  y3 = add w, x3
  z3 = cast y3 {to = bf16}
  return z1, z3, s2
})"),
                               *find_target("h200"), {}, {});
  EXPECT_LT(temporary_bytes(program), 4 * 128 * 512 * 64) << "w is not stored";
}

/// In bicubic interpolation, groups compute values of one another. Every loaded value must be stored, and
/// groups without loaded values must disappear.
TEST(RematerializeTest, ValuesOfSeveralGroups) {
  for (const char* name : {"bicubic_samples", "bicubic_samples_later"}) {
    std::ifstream file(std::string(SINTER_SOURCE_DIR "/tests/unit/compiler/fusion/graphs/") + name + ".sinter");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    ASSERT_FALSE(text.empty()) << name;
    for (const char* target : {"cpu", "h200"}) {
      const Program program = plan(parse(text), *find_target(target), {}, {});
      EXPECT_THAT(program.kernels, SizeIs(testing::Le(4))) << name << " on " << target;
    }
  }
}

}  // namespace
}  // namespace sinter::rematerialize_test
