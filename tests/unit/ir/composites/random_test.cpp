// Random numbers: dtypes of seeds and results, and error messages.
#include "sinter/views.h"
#include "tests/support/files/errors.h"
#include "tests/support/graphs/nn_support.h"

#include <gmock/gmock.h>

namespace sinter::random_test {
namespace {

using test::error_of;
using testing::HasSubstr;

const DType kIntegers[] = {i8, i16, i32, i64, u8, u16, u32, u64};

TEST(RandomTest, BitsDoNotDependOnTheDTypeOfTheSeed) {
  const auto record = [](Tensor seed, Tensor offset) { return random_bits(seed, {9}, offset); };
  const Expected wanted = value_of(array(i64, {}, {77}), array(i64, {}, {5}), record);
  for (const DType seed : kIntegers)
    for (const DType offset : kIntegers) {
      const Expected bits = value_of(array(seed, {}, {77}), array(offset, {}, {5}), record);
      EXPECT_EQ(bits.integers, wanted.integers) << name(seed) << " and " << name(offset);
    }
  const auto by_number = [](Tensor seed) { return random_bits(seed, {9}, 5); };
  EXPECT_EQ(value_of(array(u64, {}, {77}), by_number).integers, wanted.integers);
}

TEST(RandomTest, AllFunctionsAcceptAU64Seed) {
  Graph graph("test");
  const Tensor seed = graph.scalar("seed", u64);
  const Tensor x = graph.input("x", bf16, {3});
  EXPECT_EQ(random_uniform(seed, {3}, f64, seed).dtype(), f64);
  EXPECT_EQ(random_normal(seed, {3}, f16).dtype(), f16);
  EXPECT_EQ(random_bernoulli(seed, {3}, 0.5).dtype(), boolean);
  EXPECT_EQ(dropout(x, seed, 0.5, seed).dtype(), bf16);
}

TEST(RandomTest, RejectsOtherResultDTypes) {
  Graph graph("test");
  const Tensor seed = graph.scalar("seed", i64);
  for (const DType dtype : {i32, boolean, f8e4m3, f8e5m2, c64}) {
    EXPECT_THAT(error_of([&] { random_normal(seed, {3}, dtype); }),
                HasSubstr("random_normal: the dtype is " + std::string(name(dtype)) +
                          "; it must be f16, bf16, f32 or f64"));
    EXPECT_THAT(error_of([&] { random_uniform(seed, {3}, dtype); }),
                HasSubstr("random_uniform: the dtype is " + std::string(name(dtype))));
  }
}

TEST(RandomTest, ErrorsNameTheFunction) {
  Graph graph("test");
  const Tensor seed = graph.scalar("seed", i64);
  const Tensor real = graph.scalar("real", f32);
  const Tensor x = graph.input("x", f32, {3});
  EXPECT_THAT(error_of([&] { random_bernoulli(real, {3}, 0.5); }),
              HasSubstr("random_bernoulli: the seed or offset is f32[]; it must be an integer of "
                        "rank 0"));
  EXPECT_THAT(error_of([&] { dropout(x, seed, 0.5, real); }),
              HasSubstr("dropout: the seed or offset is f32[]"));
  EXPECT_THAT(error_of([&] { dropout(x, seed, 0.5, -1); }),
              HasSubstr("dropout: the number -1 is not a value of u64"));
  EXPECT_THAT(error_of([&] { random_bernoulli(3, {3}, 0.5); }),
              HasSubstr("random_bernoulli: every operand is a number"));
  Graph other("other");
  const Tensor foreign = other.scalar("foreign", i64);
  EXPECT_THAT(error_of([&] { dropout(x, foreign, 0.5); }),
              HasSubstr("dropout: the operands belong to two graphs"));
}

}  // namespace
}  // namespace sinter::random_test
