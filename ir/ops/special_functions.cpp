// erfinv, digamma and trigamma in long double.
#include "ir/ops/special_functions.h"

#include "ir/types/long_double_limits.h"

#include <cmath>
#include <iterator>
#include <numbers>

namespace sinter {
namespace {

constexpr long double kPi = std::numbers::pi_v<long double>;
constexpr long double kHalfRootOfPi = 0.886226925452758013649084L;

/// The positive root of digamma is the sum of these two numbers.
constexpr long double kRoot = 1.461632144968362341280917L;
constexpr long double kRootRest = -1.8257096315963484215e-20L;

/// The coefficients of (x - root)^k, k = 1, 2, ..., in the Taylor series of digamma(x). They are
/// (-1)^(k + 1) times the Hurwitz zeta(k + 1, root), by Abramowitz and Stegun 6.4.10. At a distance
/// of 1/2 from the root, the last term adds 7e-22.
constexpr long double kTaylor[] = {
    9.67672245447621170427e-1L,  -4.42763168983592106093e-1L, 2.58499760955651010624e-1L,
    -1.63942705442406527504e-1L, 1.07824050691262365757e-1L,  -7.21995612564547109261e-2L,
    4.88042881641431072251e-2L,  -3.31611264748473592923e-2L, 2.25976482322181046596e-2L,
    -1.54247659049489591388e-2L, 1.05387916166121753881e-2L,  -7.20453438635686824097e-3L,
    4.92678139572985344635e-3L,  -3.36980165543932808279e-3L, 2.30512632673492783694e-3L,
    -1.57693677143019725927e-3L, 1.07882520191629658069e-3L,  -7.38070938996005129566e-4L,
    5.04953265834602035177e-4L,  -3.45468025106307699556e-4L, 2.36356015640270527924e-4L,
    -1.61706220919748034494e-4L, 1.10633727687474109041e-4L,  -7.56917958219506591924e-5L,
    5.17857579522208086899e-5L,  -3.54300709476596063157e-5L, 2.42400661186013176527e-5L,
    -1.65842422718541333752e-5L, 1.13463845846638498067e-5L,  -7.76281766846209442527e-6L,
    5.31106092088986338732e-6L,  -3.63365078980104566837e-6L, 2.4860227331295379489e-6L,
    -1.70085388543326065825e-6L, 1.16366753635488427029e-6L,  -7.96142543124197040035e-7L,
    5.4469419306694452785e-7L,   -3.7266161283438229589e-7L,  2.54962655202155425666e-7L,
    -1.74436951177277452181e-7L, 1.1934394829830242779e-7L,   -8.16511518948840884084e-8L,
    5.58629968353217144428e-8L,  -3.82196006191749421243e-8L, 2.61485769519618662795e-8L};
constexpr int kTaylorTerms = static_cast<int>(std::size(kTaylor));

/// The Bernoulli numbers B_2, B_4, ...
constexpr long double kBernoulli[] = {
    1.0L / 6, -1.0L / 30,     1.0L / 42,       -1.0L / 30,       5.0L / 66,      -691.0L / 2730,
    7.0L / 6, -3617.0L / 510, 43867.0L / 798L, -174611.0L / 330, 854513.0L / 138};
constexpr int kBernoulliTerms = static_cast<int>(std::size(kBernoulli));
/// From here on, the first omitted term of the asymptotic series is below 1e-20 of the result.
constexpr long double kFar = 12;

/// digamma for 0 <= x < kFar: moves x to within 1/2 of the root by 6.3.6, and uses the Taylor
/// series.
long double digamma_near(long double x) {
  const int steps = static_cast<int>(std::rint(x - kRoot));
  const long double from_root = x - static_cast<long double>(steps) - kRoot - kRootRest;
  long double result = 0;
  for (int k = kTaylorTerms; k > 0; --k) result = (result + kTaylor[k - 1]) * from_root;
  if (steps < 0) return result - 1 / x;
  for (int k = 1; k <= steps; ++k) result += 1 / (x - static_cast<long double>(k));
  return result;
}

/// digamma for x >= kFar, by 6.3.18.
long double digamma_far(long double x) {
  const long double z = 1 / (x * x);
  long double sum = 0;
  for (int k = kBernoulliTerms; k > 0; --k)
    sum = (sum + kBernoulli[k - 1] / (2.0L * static_cast<long double>(k))) * z;
  return std::log(x) - (sum + 0.5L / x);
}

/// trigamma for x >= kFar, by 6.4.12.
long double trigamma_far(long double x) {
  const long double z = 1 / (x * x);
  long double sum = 0;
  for (int k = kBernoulliTerms; k > 0; --k) sum = (sum + kBernoulli[k - 1]) * z;
  return (1 + sum + 0.5L / x) / x;
}

/// pi / tan(pi r) for |r| <= 1/2, computed from the smaller of |r| and 1/2 - |r|.
long double pi_cotangent(long double r) {
  if (std::fabs(r) <= 0.25L) return kPi / std::tan(kPi * r);
  return kPi * std::tan(kPi * std::copysign(0.5L - std::fabs(r), r));
}

}  // namespace

long double erfinv(long double x) {
  const long double magnitude = std::fabs(x);
  if (!(magnitude < 1)) return magnitude == 1 ? std::copysign(kInfinity, x) : kNan;
  if (x == 0) return x;
  // Newton's method, which converges from one side in both cases. Below 1/2, erf is concave and the
  // start is too small. Above 1/2, log(erfc) is concave, and erfc(y) <= exp(-y^2) makes the start
  // too large.
  const bool is_small = magnitude < 0.5L;
  const long double rest = 1 - magnitude;
  long double y = is_small ? magnitude * kHalfRootOfPi : std::sqrt(-std::log(rest));
  long double step = y;
  // The error is about the square of the last step, so a last step of 1e-10 y is enough.
  while (step * step > 1e-20L * y * y) {
    const long double slope = kHalfRootOfPi * std::exp(y * y);
    step = is_small ? (magnitude - std::erf(y)) * slope
                    : std::log(std::erfc(y) / rest) * std::erfc(y) * slope;
    y += step;
  }
  return std::copysign(y, x);
}

long double digamma(long double x) {
  if (std::isnan(x)) return x;
  if (x >= kFar) return digamma_far(x);
  if (x >= 0) return digamma_near(x);
  const long double r = x - std::rint(x);  // exact; NaN at -inf
  if (r == 0) return kNan;
  return digamma(1 - x) - pi_cotangent(r);  // 6.3.7
}

long double trigamma(long double x) {
  if (std::isnan(x)) return x;
  if (x >= 0) {
    long double near = 0;  // 6.4.6, up to the range of the asymptotic series
    for (; x < kFar; ++x) near += 1 / (x * x);
    return near + trigamma_far(x);
  }
  const long double r = x - std::rint(x);
  if (r == 0) return kInfinity;
  const long double ratio = kPi / std::sin(kPi * r);
  return ratio * ratio - trigamma(1 - x);  // 6.4.7
}

}  // namespace sinter
