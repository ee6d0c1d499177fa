// The kernel cache: equal kernels are compiled once, and failed compilations are tried again.
#include "runtime/cache/kernel_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "runtime/compile_service/compile_service.h"
#include "runtime/driver/host/host_driver.h"
#include "sinter/sinter.h"
#include "tests/support/files/errors.h"

namespace sinter::kernel_cache_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A kernel that stores `value`.
Source store_kernel(const std::string& entry, const std::string& value) {
  return {.entry = entry,
          .text = "extern \"C\" __global__ void " + entry +
                  "(float* __restrict__ y_out) {\n  store(y_out, 0, " + value + ");\n}\n",
          .arguments = {{.kind = Argument::Kind::buffer, .c_type = "float*"}},
          .threads = 1};
}

class CompileServiceTest : public ::testing::Test {
 protected:
  DeviceState& state = *host_device().state();
  CompileService service{state};

  std::vector<CompileResult> compile(const std::vector<CompileUnit>& units) {
    return service.compile(units, {});
  }
  std::vector<std::int64_t> counts() const {
    const CompileCounters counters = service.counters();
    return {counters.hits, counters.misses, counters.compiles};
  }
};

TEST_F(CompileServiceTest, CompilesUnitsTogetherAndEqualOnesOnce) {
  const CompileUnit one{{store_kernel("one", "1.0f"), store_kernel("one_b", "1.0f")}};
  const CompileUnit two{{store_kernel("two", "2.0f")}};
  const std::vector<CompileResult> first = compile({one, two, one});
  EXPECT_EQ(counts(), (std::vector<std::int64_t>{1, 2, 1}));
  EXPECT_FALSE(first[0].was_cached);
  EXPECT_TRUE(first[2].was_cached);
  EXPECT_EQ(first[0].unit, first[2].unit);
  EXPECT_EQ(first[0].unit->functions.size(), 2U);

  const std::vector<CompileResult> second = compile({two});
  EXPECT_TRUE(second[0].was_cached);
  EXPECT_EQ(second[0].unit, first[1].unit);
  EXPECT_EQ(counts(), (std::vector<std::int64_t>{2, 2, 1}));
}

/// Names of values are not part of the code key.
TEST_F(CompileServiceTest, CompilesEqualCodeOnceDespiteNames) {
  Source first = store_kernel("first", "1.0f");
  Source second = store_kernel("second", "1.0f");
  Source other = store_kernel("other", "2.0f");
  first.code_key = second.code_key = store_kernel("kernel", "1.0f").text;
  other.code_key = store_kernel("kernel", "2.0f").text;
  const std::vector<CompileResult> results = compile({{{first}}, {{second}}, {{other}}});
  EXPECT_EQ(counts(), (std::vector<std::int64_t>{1, 2, 1}));
  EXPECT_EQ(results[0].unit, results[1].unit);
  EXPECT_NE(results[0].unit, results[2].unit);
}

TEST_F(CompileServiceTest, SeparatesSettings) {
  const std::vector<CompileUnit> units = {{{store_kernel("one", "1.0f")}}};
  const CompileResult plain = service.compile(units, {})[0];
  const CompileResult counting = service.compile(units, {.host = {.count = true}})[0];
  const CompileResult quick = service.compile(units, {.host = {.optimize = false}})[0];
  EXPECT_FALSE(counting.was_cached);
  EXPECT_FALSE(quick.was_cached);
  EXPECT_NE(plain.unit, counting.unit);
  EXPECT_NE(plain.unit, quick.unit);
}

TEST_F(CompileServiceTest, CompilesOnceForManyThreads) {
  const std::vector<CompileUnit> units = {{{store_kernel("one", "1.0f")}}};
  std::vector<std::thread> threads;
  std::vector<CompiledUnitPointer> results(4);
  for (CompiledUnitPointer& result : results)
    threads.emplace_back([&] { result = compile(units)[0].unit; });
  for (std::thread& thread : threads) thread.join();
  for (const CompiledUnitPointer& result : results) EXPECT_EQ(result, results[0]);
  EXPECT_EQ(counts(), (std::vector<std::int64_t>{3, 1, 1}));
}

TEST_F(CompileServiceTest, ShowsTheLineOfACompileErrorAndTriesAgain) {
  const std::vector<CompileUnit> broken = {{{store_kernel("broken", "undefined_name")}}};
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(test::error_of<CompileError>([&] { compile(broken); }),
                AllOf(HasSubstr("could not compile its own kernel broken"),
                      HasSubstr("2 |   store(y_out, 0, undefined_name);")));
  EXPECT_EQ(counts(), (std::vector<std::int64_t>{0, 2, 2}));
}

TEST_F(CompileServiceTest, SurvivesAModuleThatDoesNotLoad) {
  const std::vector<CompileUnit> units = {{{store_kernel("one", "1.0f")}}};
  host::inject_fault("cuModuleLoadData", 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THAT(test::error_of<DriverError>([&] { compile(units); }),
              StartsWith("cuModuleLoadData failed on the host device for one: "
                         "CUDA_ERROR_OUT_OF_MEMORY"));
  EXPECT_EQ(compile(units)[0].unit->functions.size(), 1U);
}

UnitKey key_of(std::string_view code) { return {.settings = {}, .code = hash_of(code)}; }

TEST(KernelCache, MakesOneCallerCompile) {
  KernelCache cache;
  const KernelCache::Claim first = cache.claim(key_of("key"));
  const KernelCache::Claim second = cache.claim(key_of("key"));
  ASSERT_TRUE(first.promise);
  EXPECT_FALSE(second.promise);
  const auto unit = std::make_shared<const CompiledUnit>();
  cache.fulfil(first, unit);
  EXPECT_EQ(second.unit.get(), unit);
  EXPECT_EQ(cache.claim(key_of("key")).unit.get(), unit);
}

TEST(KernelCache, PassesAFailureToAllWaitersAndForgetsIt) {
  KernelCache cache;
  const KernelCache::Claim first = cache.claim(key_of("key"));
  const KernelCache::Claim second = cache.claim(key_of("key"));
  cache.fail(first, std::make_exception_ptr(CompileError("no")));
  EXPECT_EQ(test::error_of<CompileError>([&] { (void)second.unit.get(); }), "no");
  EXPECT_TRUE(cache.claim(key_of("key")).promise);
}

/// Adds an empty unit under `key`.
void add(KernelCache& cache, const std::string& key) {
  const KernelCache::Claim claim = cache.claim(key_of(key));
  ASSERT_TRUE(claim.promise) << key;
  cache.fulfil(claim, std::make_shared<const CompiledUnit>());
}

TEST(KernelCache, EvictsTheLeastRecentlyUsedUnit) {
  KernelCache cache(3);
  for (const char* key : {"a", "b", "c"}) add(cache, key);
  EXPECT_FALSE(cache.claim(key_of("a")).promise);
  add(cache, "d");
  EXPECT_EQ(cache.evicted(), 1);
  for (const char* key : {"a", "c", "d"}) EXPECT_FALSE(cache.claim(key_of(key)).promise) << key;
  EXPECT_TRUE(cache.claim(key_of("b")).promise);
}

TEST(KernelCache, KeepsUnitsInUse) {
  KernelCache cache(3);
  for (const char* key : {"a", "b", "c"}) add(cache, key);
  const CompiledUnitPointer used = cache.claim(key_of("a")).unit.get();
  const KernelCache::Claim being_made = cache.claim(key_of("d"));
  for (int i = 0; i < 100; ++i) add(cache, "more " + std::to_string(i));
  EXPECT_EQ(cache.claim(key_of("a")).unit.get(), used);
  EXPECT_FALSE(cache.claim(key_of("d")).promise);
  EXPECT_TRUE(cache.claim(key_of("b")).promise);
  EXPECT_GE(cache.evicted(), 99);
  cache.fulfil(being_made, used);
}

/// The cache exceeds its limit if all units are in use.
TEST(KernelCache, GrowsWhileAllUnitsAreInUse) {
  KernelCache cache(3);
  std::vector<CompiledUnitPointer> used;
  for (int i = 0; i < 50; ++i) {
    add(cache, std::to_string(i));
    used.push_back(cache.claim(key_of(std::to_string(i))).unit.get());
  }
  EXPECT_EQ(cache.evicted(), 0);
  used.clear();
  for (int i = 0; i < 10; ++i) add(cache, "more " + std::to_string(i));
  EXPECT_EQ(cache.evicted(), 57);
}

}  // namespace
}  // namespace sinter::kernel_cache_test
