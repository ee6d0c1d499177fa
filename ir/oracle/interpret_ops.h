// Internal to the oracle: one function per kind of op, and the intervals that they round.
#pragma once

#include "ir/oracle/interpret.h"
#include "ir/types/wide_integer.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <thread>
#include <vector>

namespace sinter {

inline constexpr double kUndecided = std::numeric_limits<double>::infinity();

/// A result before rounding: the oracle's value, and the smallest and the largest value that the
/// device may have before it rounds. A NaN end with a value that is not NaN means undecided.
struct Interval {
  long double value;
  long double low;
  long double high;
};

/// A value that the device must match exactly.
inline Interval certain(long double value) { return {.value = value, .low = value, .high = value}; }
/// A value that any device result matches.
inline Interval undecided(long double value) {
  return {.value = value, .low = std::numeric_limits<long double>::quiet_NaN(), .high = value};
}
/// A value from which the device's may differ by `error`.
inline Interval within(long double value, long double error) {
  return {.value = value, .low = value - error, .high = value + error};
}

/// A rounded result.
struct Element {
  double value;
  double bound;
};

/// A result of an integer or bool dtype: exact or undecided.
struct IntegerElement {
  Wide value;
  double bound;
};

/// Rounds the value and both ends to `dtype`. Rounding is monotone, so the device's result is
/// between the rounded ends.
Interval rounded(const Interval& exact, DType dtype);
/// Converts an interval of representable numbers to a value and a bound. Exact if value and ends
/// are equal or all NaN; otherwise undecided if one of them is infinite or NaN.
Element to_element(const Interval& representable);
/// Rounds `value` to `dtype`. The device rounds a value that differs by at most `bound`; undecided
/// if `bound` is infinite.
Element round_within(DType dtype, long double value, long double bound);

/// Sets element `i` and its bound, if `result` has bounds.
inline void set_element(Expected& result, std::size_t i, const Element& element) {
  result.reals[i] = element.value;
  if (!result.bounds.empty()) result.bounds[i] = element.bound;
}
inline void set_element(Expected& result, std::size_t i, const IntegerElement& element) {
  result.integers[i] = to_storage_bits(element.value);
  if (!result.bounds.empty()) result.bounds[i] = element.bound;
}

/// A node with the values of its operands and the evaluated shape of its result.
struct NodeEvaluation {
  const Node& node;
  std::span<const Expected* const> operands;
  std::vector<std::int64_t> shape;
  std::span<const std::int64_t> symbols;
};

/// The result of any op except a collective of several ranks, which throws UserError.
Expected interpret_node(const GraphData& graph, const HostArrays& inputs,
                        const NodeEvaluation& evaluation);
/// The outputs and updates of `graph` from the values of their nodes, asked for in this order.
Interpretation collect_results(const GraphData& graph,
                               const std::function<Expected(const Node*)>& value);
Expected interpret_elementwise(const NodeEvaluation& evaluation);
Expected interpret_cast(const NodeEvaluation& evaluation);
Expected interpret_reduction(const NodeEvaluation& evaluation);
/// The result of the user's oracle. Elements are undecided if there is none or an operand is
/// inexact.
Expected interpret_custom(const GraphData& graph, const NodeEvaluation& evaluation);
/// The result of the registered function's reference; undecided if it has none. Throws UserError if
/// no function is registered or the reference throws.
Expected interpret_opaque(const GraphData& graph, const NodeEvaluation& evaluation);
Expected interpret_scan(const NodeEvaluation& evaluation);
Expected interpret_structural(const NodeEvaluation& evaluation);

/// A value of `dtype` and `shape` with all elements 0, and all bounds 0 if `with_bounds`.
Expected make_expected(DType dtype, std::vector<std::int64_t> shape, bool with_bounds);
/// The exact values of `array`.
Expected from_array(const HostArray& array);
/// Clears the bounds if all are 0.
void drop_exact_bounds(Expected& value);
/// True if any operand has bounds.
bool has_bounds(std::span<const Expected* const> operands);

/// Calls `body(begin, end)` for ranges that cover [0, count), on several threads if the work
/// justifies them. `cost` is the approximate time per index in nanoseconds. `body` must not throw.
template <class Body>
void in_parallel(std::int64_t count, std::int64_t cost, const Body& body) {
  // Starting a thread takes about 20 µs, so each thread should have about 1 ms of work.
  constexpr std::int64_t kNanosecondsPerThread = 1'000'000;
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  const std::int64_t threads = std::clamp<std::int64_t>(count * cost / kNanosecondsPerThread, 1,
                                                        std::max<std::int64_t>(cores, 1));
  const auto start = [&](std::int64_t thread) {
    return count / threads * thread + std::min(thread, count % threads);
  };
  std::vector<std::jthread> others;
  for (std::int64_t thread = 1; thread < threads; ++thread)
    others.emplace_back([&, thread] { body(start(thread), start(thread + 1)); });
  body(std::int64_t{0}, start(1));
}

}  // namespace sinter
