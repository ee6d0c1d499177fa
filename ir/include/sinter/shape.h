// Extents (numbers, symbols, or polynomials of symbols) and the views that functions take them by.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace sinter {

struct ExtentExpression;  // internal: an interned polynomial over symbols

/// The size along one axis: a number, or an expression over symbols such as `rows * 16`.
/// Expressions are canonical and interned per Graph, so equality is one comparison.
class Extent {
 public:
  constexpr Extent() = default;
  constexpr Extent(std::int64_t value) : value_(value) {}  // NOLINT: numbers are extents
  static constexpr Extent of(const ExtentExpression* expression) {
    Extent result;
    result.expression_ = expression;
    return result;
  }

  constexpr bool is_number() const { return expression_ == nullptr; }
  /// The value of a number; 0 for an expression.
  constexpr std::int64_t number() const { return value_; }
  constexpr const ExtentExpression* expression() const { return expression_; }
  constexpr bool is(std::int64_t value) const { return is_number() && value_ == value; }

  friend constexpr bool operator==(Extent, Extent) = default;
  // Most sums and products are those of small numbers.
  friend Extent operator+(Extent a, Extent b) {
    std::int64_t sum = 0;
    const bool is_small =
        a.is_number() && b.is_number() && !__builtin_add_overflow(a.value_, b.value_, &sum);
    return is_small ? Extent(sum) : general_sum(a, b);
  }
  friend Extent operator-(Extent a, Extent b) { return a + b * Extent(-1); }
  friend Extent operator*(Extent a, Extent b) {
    std::int64_t product = 0;
    const bool is_small =
        a.is_number() && b.is_number() && !__builtin_mul_overflow(a.value_, b.value_, &product);
    return is_small ? Extent(product) : general_product(a, b);
  }

 private:
  static Extent general_sum(Extent a, Extent b);
  static Extent general_product(Extent a, Extent b);

  std::int64_t value_ = 0;
  const ExtentExpression* expression_ = nullptr;
};

/// floor(a / divisor), exactly when the division is exact. `divisor` > 0.
Extent floor_div(Extent a, Extent divisor);
/// ceil(a / divisor). `divisor` > 0.
Extent ceil_div(Extent a, std::int64_t divisor);
/// The text form: `4096`, `rows`, `rows * 16 + 1`.
std::string to_string(Extent extent);
/// The text form of a shape: `[rows, 4096]`.
std::string to_string(std::span<const Extent> shape);

/// How a function takes a shape: from `{rows, 4096}`, a vector, or a span. Holds no data.
class Extents : public std::span<const Extent> {
 public:
  constexpr Extents() = default;
  Extents(std::initializer_list<Extent> list) : span(list.begin(), list.size()) {}
  Extents(const std::vector<Extent>& vector) : span(vector) {}  // NOLINT
  Extents(std::span<const Extent> view) : span(view) {}         // NOLINT
};

/// How a function takes axes or sizes: from `{0, -1}`, a vector, or a span. Holds no data.
class Axes : public std::span<const std::int64_t> {
 public:
  constexpr Axes() = default;
  Axes(std::initializer_list<std::int64_t> list) : span(list.begin(), list.size()) {}
  Axes(const std::vector<std::int64_t>& vector) : span(vector) {}  // NOLINT
  Axes(std::span<const std::int64_t> view) : span(view) {}         // NOLINT
};

/// The most axes a Tensor may have.
inline constexpr int kMaxRank = 16;

}  // namespace sinter
