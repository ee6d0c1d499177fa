// The oracle's special functions, compared with values of mpmath 1.3 with 60 digits. Also poles and
// undefined points.
#include "ir/ops/special_functions.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace sinter::special_functions_test {
namespace {

constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
constexpr long double kNan = std::numeric_limits<long double>::quiet_NaN();

/// The relative error bound that ir/ops/special_functions.h documents.
constexpr long double kRelativeError = 1e-18L;

struct Value {
  long double x;
  long double y;
};

TEST(SpecialTest, ErfinvMatchesReferenceValues) {
  const Value values[] = {
      {0x1p-1000L, 8.27083347263023351854e-302L}, {0x1p-30L, 8.25363141906222341443e-10L},
      {0.25L, 0.225312055012178104725L},          {0.484375L, 0.459692996832175770987L},
      {0.5L, 0.476936276204469873381L},           {-0.75L, -0.813419847597618541690L},
      {0.9375L, 1.31715033498613074888L},         {1 - 0x1p-10L, 2.33146777362194767232L},
      {1 - 0x1p-24L, 3.83250685690071090946L},    {0x1p-53L - 1, -5.86358474875516792721L},
  };
  for (const Value& value : values)
    EXPECT_LT(std::fabs(erfinv(value.x) / value.y - 1), kRelativeError) << value.x;
}

TEST(SpecialTest, DigammaMatchesReferenceValues) {
  const Value values[] = {
      {0x1p-1000L, -1.07150860718626732095e301L},
      {0x1p-20L, -1048576.57721409617125L},
      {0.5L, -1.96351002602142347944L},
      {1, -0.577215664901532860607L},
      {0x1.762d86356be3fp0L, -9.24126552172942751679e-17L},  // next to the root
      {1.5L, 0.0364899739785765205590L},
      {2, 0.422784335098467139393L},
      {3.25L, 1.01699091106817903635L},
      {11.75L, 2.42069689342263206445L},
      {12, 2.44266167997581201674L},
      {100.5L, 4.60517435258184521187L},
      {0x1p60L, 41.5888308335967185646L},
      {-0x1p-40L, 1.09951162777542278434e12L},
      {-2.25L, 4.15858356465797227482L},
      {-1000.125L, 14.4928557171137634653L},
  };
  for (const Value& value : values)
    EXPECT_LT(std::fabs(digamma(value.x) / value.y - 1), kRelativeError) << value.x;
}

TEST(SpecialTest, DigammaHasAnAbsoluteErrorNearNegativeRoots) {
  EXPECT_LT(std::fabs(digamma(-0.5L) - 0.0364899739785765205590L), kRelativeError);
  EXPECT_LT(std::fabs(digamma(-1.5L) - 0.703156640645243187226L), kRelativeError);
  EXPECT_LT(std::fabs(digamma(-30.75L) - 0.300469381617540457233L),
            3.4L * kRelativeError);  // relative to digamma(31.75)
}

TEST(SpecialTest, TrigammaMatchesReferenceValues) {
  const Value values[] = {
      {0x1p-1000L, 1.14813069527425452423e602L},
      {0x1p-20L, 1.09951162777764493177e12L},
      {0.5L, 4.93480220054467930942L},
      {1, 1.64493406684822643647L},
      {2, 0.644934066848226436472L},
      {3.25L, 0.359798290309579875074L},
      {11.75L, 0.0888305220796238729195L},
      {12, 0.0869018728717683907503L},
      {0x1p60L, 8.67361737988403547582e-19L},
      {-0.5L, 8.93480220054467930942L},
      {-0x1p-40L, 1.20892581961462917471e24L},
      {-2.25L, 19.3794105118691373626L},
      {-1000.125L, 67.3928750276057488495L},
  };
  for (const Value& value : values)
    EXPECT_LT(std::fabs(trigamma(value.x) / value.y - 1), kRelativeError) << value.x;
}

TEST(SpecialTest, ErfinvIsOddAndInfiniteAtOne) {
  EXPECT_EQ(erfinv(0.0L), 0);
  EXPECT_FALSE(std::signbit(erfinv(0.0L)));
  EXPECT_TRUE(std::signbit(erfinv(-0.0L)));
  EXPECT_EQ(erfinv(-0.3L), -erfinv(0.3L));
  EXPECT_EQ(erfinv(1), kInfinity);
  EXPECT_EQ(erfinv(-1), -kInfinity);
  for (const long double x : {1.5L, -1.5L, kInfinity, -kInfinity, kNan})
    EXPECT_TRUE(std::isnan(erfinv(x))) << x;
}

TEST(SpecialTest, DigammaAndTrigammaHavePoles) {
  EXPECT_EQ(digamma(0.0L), -kInfinity);
  EXPECT_EQ(digamma(-0.0L), kInfinity);
  EXPECT_EQ(digamma(kInfinity), kInfinity);
  for (const long double x : {-1.0L, -2.0L, -1e15L, -kInfinity, kNan})
    EXPECT_TRUE(std::isnan(digamma(x))) << x;

  for (const long double x : {0.0L, -0.0L, -1.0L, -2.0L, -1e15L})
    EXPECT_EQ(trigamma(x), kInfinity) << x;
  EXPECT_EQ(trigamma(kInfinity), 0);
  for (const long double x : {-kInfinity, kNan}) EXPECT_TRUE(std::isnan(trigamma(x))) << x;
}

}  // namespace
}  // namespace sinter::special_functions_test
