// profile(): its launches, its side effects and its output.
#include "sinter/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/driver/host/host_driver.h"
#include "sinter/sinter.h"
#include "tests/support/files/errors.h"

namespace sinter::profile_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::int64_t kColumns = 64;

/// A step that updates its weights in place, so a second run gives another result.
Graph step() {
  Graph graph("step");
  const Extent rows = graph.extent("rows");
  const Tensor w = graph.input("w", f32, {rows, kColumns});
  const Tensor x = graph.input("x", f32, {rows, kColumns});
  const Tensor next = w * graph.scalar("decay", f32) + x;
  graph.update(w, next);
  graph.output("sums", sum(next, {0}));
  return graph;
}

class ProfileTest : public ::testing::Test {
 protected:
  Array upload(const std::vector<float>& values, Sizes shape) {
    const Array array = device.empty(f32, shape);
    device.upload(array, values, stream);
    return array;
  }
  std::vector<float> numbers(float factor) const {
    std::vector<float> result;
    for (int i = 0; i < rows * kColumns; ++i) result.push_back(factor * static_cast<float>(i % 37));
    return result;
  }
  std::vector<float> download(const Array& array) { return device.download<float>(array, stream); }

  std::int64_t rows = 48;
  Device device = host_device();
  Stream stream = device.stream();
  Executable executable = compile(step(), device, {.tune = Tune::off, .fuse = false});
  Context context = executable.context();
  Array w = upload(numbers(1), {rows, kColumns});
  Array x = upload(numbers(0.25F), {rows, kColumns});
  Array sums = device.empty(f32, {kColumns});
};

TEST_F(ProfileTest, LaunchesEachKernelOnceMoreThanItTimesIt) {
  stream.synchronize();
  const Bindings bindings = context.bind({{"w", w}, {"x", x}, {"decay", 0.5F}}, {{"sums", sums}});
  executable.prepare({{"rows", rows}});
  const std::uint64_t before = host::counters().kernels;
  const Profile result = profile(context, bindings, {.repeats = 4});
  EXPECT_EQ(host::counters().kernels - before, result.kernels.size() * 5);
  EXPECT_EQ(result.repeats, 4);
  EXPECT_THAT(result.kernels, SizeIs(executable.report().kernels.size()));
  EXPECT_THAT(result.kernels, SizeIs(Gt(1U)));
  EXPECT_THAT(result.kernels, Each(Field(&KernelProfile::launches, 1)));
  EXPECT_THAT(result.kernels, Each(Field(&KernelProfile::median_us, Gt(0.0))));
  EXPECT_THAT(result.kernels, Each(Field(&KernelProfile::copy_us, Gt(0.0))));
  for (const KernelProfile& kernel : result.kernels) {
    EXPECT_LE(kernel.lower_quartile_us, kernel.median_us);
    EXPECT_LE(kernel.median_us, kernel.upper_quartile_us);
    EXPECT_DOUBLE_EQ(kernel.gigabytes_per_second,
                     static_cast<double>(kernel.bytes()) / kernel.median_us / 1e3);
    EXPECT_DOUBLE_EQ(kernel.share_of_copy, kernel.copy_us / kernel.median_us);
  }
}

TEST_F(ProfileTest, KeepsUpdatedInputsAndWritesOutputs) {
  (void)profile(context, {{"w", w}, {"x", x}, {"decay", 0.5F}}, {{"sums", sums}}, {.repeats = 3});
  EXPECT_EQ(download(w), numbers(1));
  EXPECT_EQ(download(x), numbers(0.25F));
  const std::vector<float> profiled = download(sums);
  const Array others = device.empty(f32, {kColumns});
  context.run(stream, {{"w", w}, {"x", x}, {"decay", 0.5F}}, {{"sums", others}});
  EXPECT_EQ(profiled, download(others));
  EXPECT_NE(download(w), numbers(1));  // a run updates w
}

TEST_F(ProfileTest, DoesNotAffectLaterRuns) {
  const Bindings bindings = context.bind({{"w", w}, {"x", x}, {"decay", 0.5F}}, {{"sums", sums}});
  Context other = executable.context();
  const Array w2 = upload(numbers(1), {rows, kColumns});
  const Array sums2 = device.empty(f32, {kColumns});
  for (const bool as_graph : {false, true, true}) {
    (void)profile(context, bindings, {.repeats = 1});
    if (as_graph)
      context.replay(stream, bindings);
    else
      context.run(stream, bindings);
    other.run(stream, {{"w", w2}, {"x", x}, {"decay", 0.5F}}, {{"sums", sums2}});
    EXPECT_EQ(download(w), download(w2));
    EXPECT_EQ(download(sums), download(sums2));
  }
}

TEST_F(ProfileTest, HasTheBytesOfTheBoundSizes) {
  (void)context.run(stream, {{"w", w}, {"x", x}, {"decay", 0.5F}});
  rows = 96;
  const Array large = upload(numbers(1), {rows, kColumns});
  const Array same = upload(numbers(1), {rows, kColumns});
  const Profile result = profile(context, {{"w", large}, {"x", same}, {"decay", 0.5F}},
                                 {{"sums", sums}}, {.repeats = 1, .stream = stream});
  EXPECT_THAT(result.sizes, ElementsAre("rows = 96"));
  const std::int64_t array_bytes = rows * kColumns * 4;
  EXPECT_EQ(result.kernels[0].bytes_written, array_bytes);
  std::int64_t sum = 0;
  for (const KernelProfile& kernel : result.kernels) sum += kernel.bytes();
  EXPECT_EQ(result.bytes(), sum);
}

TEST_F(ProfileTest, TextAndJsonAgree) {
  const Profile result =
      profile(context, {{"w", w}, {"x", x}, {"decay", 0.5F}}, {{"sums", sums}}, {.repeats = 2});
  EXPECT_FALSE(result.is_cold);
  const std::string text = profile_table(result);
  EXPECT_THAT(text, HasSubstr("rows = 48: 2 launches of each kernel; caches are as the previous"));
  const auto json = nlohmann::json::parse(profile_json(result));
  EXPECT_EQ(json["totals"]["bytes"], result.bytes());
  ASSERT_EQ(json["kernels"].size(), result.kernels.size());
  for (std::size_t i = 0; i < result.kernels.size(); ++i) {
    EXPECT_THAT(text, HasSubstr(result.kernels[i].name + " "));
    EXPECT_EQ(json["kernels"][i]["name"], result.kernels[i].name);
    EXPECT_EQ(json["kernels"][i]["median_us"], result.kernels[i].median_us);
    EXPECT_EQ(json["kernels"][i]["share_of_copy"], result.kernels[i].share_of_copy);
  }
}

/// Names may contain any bytes; JSON is UTF-8.
TEST_F(ProfileTest, JsonIsValidForNamesWithAnyBytes) {
  const Profile odd = {.graph = "\xff\"", .device = "a\xc3", .target = "h200"};
  const auto json = nlohmann::json::parse(profile_json(odd));
  EXPECT_EQ(json["target"], "h200");
  EXPECT_THAT(json["graph"].get<std::string>(), EndsWith("\""));
}

TEST_F(ProfileTest, HasNoTimesForEmptySizes) {
  const Array none = device.empty(f32, {0, kColumns});
  const Array none_either = device.empty(f32, {0, kColumns});
  const Profile result = profile(context, {{"w", none}, {"x", none_either}, {"decay", 0.5F}},
                                 {{"sums", sums}}, {.repeats = 1});
  EXPECT_EQ(result.kernels[0].launches, 0);
  EXPECT_EQ(result.kernels[0].median_us, 0);
  EXPECT_THAT(profile_table(result), HasSubstr("nothing to launch"));
}

TEST_F(ProfileTest, RejectsZeroRepeats) {
  EXPECT_THAT(test::error_of([&] {
                (void)profile(context, {{"w", w}, {"x", x}, {"decay", 0.5F}}, {{"sums", sums}},
                              {.repeats = 0});
              }),
              HasSubstr("step: profile: repeats is 0; it must be at least 1"));
}

TEST_F(ProfileTest, ContextWorksAfterAFailedLaunch) {
  const Bindings bindings = context.bind({{"w", w}, {"x", x}, {"decay", 0.5F}}, {{"sums", sums}});
  executable.prepare({{"rows", rows}});
  host::inject_fault("cuLaunchKernelEx", 2, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(test::error_of<DriverError>([&] { (void)profile(context, bindings); }),
              HasSubstr("cuLaunchKernelEx"));
  host::clear_faults();
  host::clear_error();
  EXPECT_EQ(download(w), numbers(1));
  const Profile again = profile(context, bindings, {.repeats = 1});
  EXPECT_GT(again.total_us(), 0);
}

}  // namespace
}  // namespace sinter::profile_test
