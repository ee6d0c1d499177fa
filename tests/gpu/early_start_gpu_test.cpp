// A kernel that starts early reads what the kernel before it has written, in thousands of runs. A
// load in front of the wait for that kernel would read older values.
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "ir/types/half.h"
#include "sinter/sinter.h"
#include "tests/support/files/read_text.h"

namespace sinter::test::early_start_gpu_test {
namespace {

constexpr std::int64_t kChannels = 960;
constexpr std::int64_t kElements = 32 * kChannels * 7 * 7;
constexpr int kValues = 8;  // of x, one after the other
constexpr int kRuns = 40;   // between two checks
constexpr int kRounds = 100;

/// Writes one value to all elements of x.
constexpr std::string_view kFill = R"(
graph fill(zeros: bf16[1505280], value: f32) {
  z = cast zeros {to = f32}
  s = add z, value
  x = cast s {to = bf16}
  return x
})";

/// A backward pass of batch_norm after a kernel that writes its input x. Without the exit behind
/// the wait, ptxas 13.0 moves nine loads of its default kernel in front of the wait. Most of them
/// read x.
class FillAndRead {
 public:
  explicit FillAndRead(const Device& on) : device(on) {}

  /// Fills x with the value of step `step`.
  void write(int step) {
    fill.run(stream, {{"zeros", zeros}, {"value", 0.25F * static_cast<float>(step % kValues)}},
             {{"x", flat}});
  }
  /// Sums a product of x over channels into `sums`.
  void read(const Array& sums) {
    reader.run(stream,
               {{"arg0_1", gradient},
                {"arg1_1", x},
                {"arg2_1", mean},
                {"arg3_1", deviation},
                {"arg4_1", weight},
                {"arg5_1", bias},
                {"arg6_1", zero}},
               {{"sum_1", other_sums}, {"mul_11", sums}, {"convert_element_type_6", result}});
  }

  const Device device;
  const Stream stream = device.stream();

 private:
  Array filled(Sizes shape, float value) const {
    std::int64_t elements = 1;
    for (const std::int64_t extent : shape) elements *= extent;
    const Array array = device.empty(f32, shape);
    device.upload(array, std::vector<float>(static_cast<std::size_t>(elements), value), stream);
    return array;
  }
  Array filled_half(Sizes shape, std::int64_t elements, float value) const {
    const Array array = device.empty(bf16, shape);
    const auto bits = static_cast<std::uint16_t>(bf16_bits(value));
    device.upload(array, std::vector<std::uint16_t>(static_cast<std::size_t>(elements), bits),
                  stream);
    return array;
  }

  const Array zeros = filled_half({kElements}, kElements, 0);
  const Array flat = filled_half({kElements}, kElements, 0);
  const Array x = flat.view(0, bf16, {32, kChannels, 7, 7}, {47040, 1, 6720, 960});
  const Array gradient = filled_half({32, kChannels}, 32 * kChannels, 1);
  const Array mean = filled({1, kChannels, 1, 1}, 0.5F);
  const Array deviation = filled({1, kChannels, 1, 1}, 1);
  const Array weight = filled({kChannels}, 1);
  const Array bias = filled({kChannels}, 0.125F);
  const Array zero = filled({}, 0);
  const Array other_sums = device.empty(f32, {kChannels});
  const Array result = device.empty(bf16, {32, kChannels, 7, 7});
  Context fill = compile(parse(kFill), device, {.tune = Tune::off}).context();
  Context reader =
      compile(parse(read_text(SINTER_SOURCE_DIR
                              "/tests/golden/early_starts/sum_sum_12bce2738ed4.sinter")),
              device, {.tune = Tune::off})
          .context();
};

TEST(EarlyStartGpu, ReadsWhatTheKernelBeforeItWrites) {
  if (default_device().is_host()) GTEST_SKIP() << "there is no CUDA device";
  if (default_device().name().starts_with("virtual GPU"))
    GTEST_SKIP() << "only machine code can have early loads, and the virtual GPU executes PTX";
  FillAndRead work(default_device());
  const auto download = [&](const Array& sums) {
    return work.device.download<float>(sums, work.stream);
  };
  std::vector<Array> sums;
  for (int i = 0; i < kRuns; ++i) sums.push_back(work.device.empty(f32, {kChannels}));
  std::vector<std::vector<float>> expected;
  for (int value = 0; value < kValues; ++value) {
    work.write(value);
    work.stream.synchronize();  // the next kernel cannot begin before x is written
    work.read(sums[0]);
    expected.push_back(download(sums[0]));
    if (value > 0) {
      ASSERT_NE(expected.back(), expected.front()) << value;
    }
  }
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kRuns; ++i) {
      work.write(i);
      work.read(sums[static_cast<std::size_t>(i)]);
    }
    for (int i = 0; i < kRuns; ++i)
      ASSERT_EQ(download(sums[static_cast<std::size_t>(i)]),
                expected[static_cast<std::size_t>(i % kValues)])
          << "run " << i << " of round " << round;
  }
}

}  // namespace
}  // namespace sinter::test::early_start_gpu_test
