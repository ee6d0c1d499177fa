// Extents (numbers, symbols, or polynomials of symbols), and the parameter types for lists of them.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

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
  // Fast path: most sums and products have small numbers as operands.
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

/// floor(a / divisor); a plain quotient if the division is exact. `divisor` must be above 0; throws
/// UserError if it is a number that is not.
Extent floor_div(Extent a, Extent divisor);
/// ceil(a / divisor). `divisor` must be above 0.
Extent ceil_div(Extent a, std::int64_t divisor);
/// The text form: `4096`, `rows`, `rows * 16 + 1`.
std::string to_string(Extent extent);
/// The text form of a shape: `[rows, 4096]`.
std::string to_string(std::span<const Extent> shape);

/// A list as a parameter: from `{a, b}`, or any contiguous list. It does not own the items.
template <class Item>
class ListParameter : public std::span<const Item> {
 public:
  constexpr ListParameter() = default;
  ListParameter(std::initializer_list<Item> list)
      : std::span<const Item>(list.begin(), list.size()) {}
  template <std::convertible_to<std::span<const Item>> List>
  ListParameter(const List& list) : std::span<const Item>(list) {}  // NOLINT
};
using Extents = ListParameter<Extent>;     ///< a shape: `{rows, 4096}`
using Axes = ListParameter<std::int64_t>;  ///< axes or sizes: `{0, -1}`

/// The largest rank of a Tensor.
inline constexpr int kMaxRank = 16;

}  // namespace sinter
