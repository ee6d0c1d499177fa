// Inside the oracle: one function per kind of op, and the intervals that they round.
#pragma once

#include "ir/oracle/interpret.h"

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace sinter {

inline constexpr double kUndecided = std::numeric_limits<double>::infinity();

/// A result before it is rounded: what the operands' values give, and the least and the most that
/// the device may have before it rounds. NaN at an end where only the value has a meaning.
struct Interval {
  long double value;
  long double low;
  long double high;
};

/// A rounded result.
struct Element {
  double value;
  double bound;
};

/// The interval whose ends are those of `low` and `high`, whichever is the lesser, and `value`.
Interval interval_around(long double value, long double a, long double b);
/// All three rounded to `dtype`: since rounding is monotone, the device's result lies between.
Interval rounded(const Interval& exact, DType dtype);
/// The element that an interval of representable numbers stands for. Undecided where its ends reach
/// infinity or have no value while the value itself does.
Element to_element(const Interval& representable);

/// The values of a node's operands, and its own shape in numbers.
struct Application {
  const Node& node;
  std::span<const Expected* const> operands;
  std::vector<std::int64_t> shape;
  std::span<const std::int64_t> symbols;
};

Expected interpret_elementwise(const Application& application);
Expected interpret_cast(const Application& application);
Expected interpret_reduction(const Application& application);
/// Undecided without an oracle of the user's, and where an operand is not exact.
Expected interpret_custom(const GraphData& graph, const Application& application);
/// What the registered function's reference says; undecided where it has none. Throws UserError
/// where no function is registered.
Expected interpret_opaque(const GraphData& graph, const Application& application);
Expected interpret_scan(const Application& application);
Expected interpret_structural(const Application& application);

/// A value of `dtype` and `shape`, all 0; with bounds, all 0, where it is said to need them.
Expected make_expected(DType dtype, std::vector<std::int64_t> shape, bool with_bounds);
/// Gives bounds that turned out to be all 0 back.
void drop_exact_bounds(Expected& value);
/// True if any element of any operand may be off.
bool has_bounds(std::span<const Expected* const> operands);

/// Calls `body(begin, end)` for ranges that cover [0, count), on several threads where that pays.
/// `cost` is roughly how many nanoseconds one takes. `body` must not throw.
template <class Body>
void in_parallel(std::int64_t count, std::int64_t cost, const Body& body);

}  // namespace sinter

#include "ir/oracle/interpret_parallel.h"
