// MelWeightMatrix: triangles, and bands that spectra do not have.
#include "tests/onnx/models/run_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::signals_test {
namespace {

using testing::HasSubstr;

ModelBuilder mel_model(std::int64_t bands, std::int64_t length, float high) {
  ModelBuilder builder;
  builder.initializer(integer_tensor("bands", {}, {bands}))
      .initializer(integer_tensor("length", {}, {length}))
      .initializer(integer_tensor("rate", {}, {8000}))
      .initializer(real_tensor("low", {}, {100}))
      .initializer(real_tensor("high", {}, {high}))
      .add("MelWeightMatrix", {"bands", "length", "rate", "low", "high"}, {"y"})
      .output("y");
  return builder;
}

/// Each band rises to 1 and falls again, and the peaks move to higher frequencies.
TEST(OnnxMelWeightMatrix, HasATrianglePerBand) {
  constexpr std::int64_t kBands = 10;
  const HostArray y = outputs_of(mel_model(kBands, 512, 3800)).at("y");
  ASSERT_EQ(y.size(), 257 * kBands);
  std::int64_t last_peak = 0;
  for (std::int64_t band = 0; band < kBands; ++band) {
    std::int64_t peak = 0;
    while (y.real_at(peak * kBands + band) < 1) ++peak;
    EXPECT_GT(peak, last_peak);
    last_peak = peak;
    for (std::int64_t i = 1; i < 257; ++i) {
      const double before = y.real_at((i - 1) * kBands + band);
      const double here = y.real_at(i * kBands + band);
      EXPECT_TRUE(i <= peak ? before <= here : before >= here) << band << " " << i;
    }
  }
}

TEST(OnnxMelWeightMatrix, BandsMustBeInTheSpectrum) {
  EXPECT_THAT(mel_model(4, 512, 9000).error(),
              HasSubstr("which spectra of 512 samples at 8000 Hz do not have"));
  EXPECT_THAT(mel_model(4, std::int64_t{1} << 40, 3800).error(),
              HasSubstr("sinter makes up to 1024 bands for up to 65536 samples"));
}

}  // namespace
}  // namespace sinter::test::signals_test
