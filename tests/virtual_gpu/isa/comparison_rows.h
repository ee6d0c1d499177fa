// Comparison rows: makes the forms of `setp` and `set` out of a comparison of one lane.
#pragma once

#include <cmath>
#include <limits>

#include "tests/virtual_gpu/isa/integer_types.h"
#include "tests/virtual_gpu/isa/lanewise.h"

namespace sinter::virtual_gpu::comparison_rows {

// ---- Operands. value() gives a number that the operators of C++ compare like the operands. ----

template <std::integral T>
T value(T a) {
  return a;
}
template <std::floating_point T>
T value(T a) {
  return a;
}
/// A float of 16 bits. Its magnitude as an integer has the order of its value, and zeros are equal.
template <std::uint16_t kInfinity, std::uint16_t kLeastNormal>
struct Small {
  std::uint16_t bits;
};
using f16 = Small<0x7c00, 0x0400>;
using bf16 = Small<0x7f80, 0x0080>;
template <std::uint16_t kInfinity, std::uint16_t kLeastNormal>
float value(Small<kInfinity, kLeastNormal> a) {
  const int magnitude = a.bits & 0x7fff;
  if (magnitude > kInfinity) return std::numeric_limits<float>::quiet_NaN();
  return static_cast<float>(a.bits >> 15 ? -magnitude : magnitude);
}
/// An operand whose subnormals are zeros.
template <class T>
struct Flushed {
  T number;
};
inline float value(Flushed<float> a) {
  return std::fabs(a.number) < std::numeric_limits<float>::min() ? 0.0f : a.number;
}
template <std::uint16_t kInfinity, std::uint16_t kLeastNormal>
float value(Flushed<Small<kInfinity, kLeastNormal>> a) {
  return (a.number.bits & 0x7fff) < kLeastNormal ? 0.0f : value(a.number);
}
/// One half of a word that holds two floats of 16 bits.
template <class T, int kShift>
struct Half {
  std::uint32_t word;
};
template <class T, int kShift>
float value(Half<T, kShift> a) {
  return value(std::bit_cast<T>(static_cast<std::uint16_t>(a.word >> kShift)));
}

/// Two floats of 16 bits in one word. T may be Flushed.
template <class T>
struct Pair {
  using Low = Half<T, 0>;
  using High = Half<T, 16>;
};
template <class T>
inline constexpr bool is_pair = false;
template <class T>
inline constexpr bool is_pair<Pair<T>> = true;

// ---- Operators (section 9.3.1): the ordered ones are false for NaN, those with `u` true. ----

enum class Operator { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };

template <Operator kOperator, class T>
bool holds(T a, T b) {
  switch (kOperator) {
    case Operator::eq: return a == b;
    case Operator::ne: return a < b || a > b;
    case Operator::lt: return a < b;
    case Operator::le: return a <= b;
    case Operator::gt: return a > b;
    case Operator::ge: return a >= b;
    case Operator::equ: return !(a < b || a > b);
    case Operator::neu: return !(a == b);
    case Operator::ltu: return !(a >= b);
    case Operator::leu: return !(a > b);
    case Operator::gtu: return !(a <= b);
    case Operator::geu: return !(a < b);
    case Operator::num: return a == a && b == b;
    case Operator::nan: return a != a || b != b;
  }
}

/// The active lanes in which the comparison holds.
template <Operator kOperator, class T>
[[gnu::noinline]] Mask compare(const LaneState& state, const Operation& operation) {
  const lanewise_detail::Reader<T> a(state.source(operation.operands[0]), false);
  const lanewise_detail::Reader<T> b(state.source(operation.operands[1]), false);
  std::array<std::uint8_t, kLanes> lanes = {};
  const auto run_lane = [&](int lane) {
    lanes[static_cast<std::size_t>(lane)] = holds<kOperator>(value(a[lane]), value(b[lane]));
  };
  if (state.mask == kAllLanes) {
    for (int lane = 0; lane < kLanes; ++lane) run_lane(lane);
  } else {
    for (Mask rest = state.mask; rest; rest &= rest - 1) run_lane(std::countr_zero(rest));
  }
  return lanewise_detail::pack_bits(lanes);
}

// ---- Instructions. They combine the results of comparisons for 32 lanes at once. ----

enum class Combination { none, bit_and, bit_or, bit_xor };
inline constexpr int kCombinations = 4;

/// Combines results with the predicate operand 2.
template <Combination kCombination>
Mask combine(const LaneState& state, const Operation& operation, Mask results) {
  if constexpr (kCombination == Combination::none) return results;
  Mask other = lanewise_detail::read_mask(state.source(operation.operands[2]));
  if (operation.negated_operands & 4) other = ~other;
  if constexpr (kCombination == Combination::bit_and) return results & other;
  if constexpr (kCombination == Combination::bit_or) return results | other;
  return results ^ other;
}

/// The sink `_` is no slot.
inline void write_predicate(LaneState& state, Slot slot, Mask bits) {
  if (slot != kNoSlot) lanewise_detail::write_mask(state.at(slot), bits, state.mask);
}
/// Writes `low` to the lanes of `low_lanes` and `high` to those of `high_lanes`, or both combined.
inline void write_words(LaneState& state, Slot slot, Mask low_lanes, std::uint32_t low,
                        Mask high_lanes, std::uint32_t high) {
  for (Mask rest = state.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::uint32_t word =
        ((low_lanes >> lane) & 1 ? low : 0) | ((high_lanes >> lane) & 1 ? high : 0);
    std::memcpy(state.at(slot) + lane * 4, &word, sizeof word);
  }
}

/// `setp p|q`. q is for the complement of the comparison; for pairs, p and q are for the halves.
template <Combination kCombination, Operator kOperator, class T>
void set_predicates(LaneState& state, const Operation& operation) {
  Mask first, second;
  if constexpr (is_pair<T>) {
    first = compare<kOperator, typename T::Low>(state, operation);
    second = compare<kOperator, typename T::High>(state, operation);
  } else {
    first = compare<kOperator, T>(state, operation);
    second = ~first;
  }
  first = combine<kCombination>(state, operation, first);
  second = combine<kCombination>(state, operation, second);
  write_predicate(state, operation.results[0], first);
  write_predicate(state, operation.results[1], second);
}

/// `set`: kTrue is the result of a lane, or of each half of a pair, in which the comparison holds.
template <Operator kOperator, class T, std::uint32_t kTrue>
void set_values(LaneState& state, const Operation& operation) {
  if constexpr (is_pair<T>) {
    const Mask low = compare<kOperator, typename T::Low>(state, operation);
    const Mask high = compare<kOperator, typename T::High>(state, operation);
    write_words(state, operation.results[0], low, kTrue, high, kTrue << 16);
  } else {
    write_words(state, operation.results[0], compare<kOperator, T>(state, operation), kTrue, 0, 0);
  }
}

// ---- Rows ----

/// A type of results of `set`, and its value for true.
struct SetType {
  std::string_view name;
  std::uint32_t true_value;
};
/// The result types for operands of type T.
template <class T>
inline constexpr SetType kSetTypes[] = {
    {"u32", 0xffffffffu}, {"s32", 0xffffffffu}, {"f32", 0x3f800000u}};
template <>
inline constexpr SetType kSetTypes<f16>[] = {{"u16", 0xffffu},
                                             {"s16", 0xffffffffu},  // sign-extended to a register
                                             {"u32", 0xffffffffu},
                                             {"s32", 0xffffffffu},
                                             {"f16", 0x3c00u}};
template <>
inline constexpr SetType kSetTypes<bf16>[] = {{"u16", 0xffffu},
                                              {"s16", 0xffffffffu},
                                              {"u32", 0xffffffffu},
                                              {"s32", 0xffffffffu},
                                              {"bf16", 0x3f80u}};
template <>
inline constexpr SetType kSetTypes<Pair<f16>>[] = {
    {"u32", 0xffffu}, {"s32", 0xffffu}, {"f16x2", 0x3c00u}};
template <>
inline constexpr SetType kSetTypes<Pair<bf16>>[] = {
    {"u32", 0xffffu}, {"s32", 0xffffu}, {"bf16x2", 0x3f80u}};

template <class T>
struct Unflushed {
  using Type = T;
};
template <class T>
struct Unflushed<Flushed<T>> {
  using Type = T;
};
template <class T>
struct Unflushed<Pair<Flushed<T>>> {
  using Type = Pair<T>;
};

/// A comparison of two operands: the meaning of `setp`, and of `set` with several result types. The
/// table omits `set` with a predicate operand, which NVRTC does not emit.
struct Comparison {
  std::string_view opcode;  ///< `setp.lt.s32`, the form without a predicate operand
  Width operands;
  bool is_half;  ///< of section 9.7.7, otherwise of 9.7.6
  std::array<Execute, kCombinations> setp;
  std::span<const SetType> set_types;
  std::span<const Execute> set;  ///< for each of `set_types`
};

/// The functions that execute `set`, by the index of the result type.
template <Operator kOperator, class T>
inline constexpr auto kSetValues = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array<Execute, sizeof...(I)>{
      &set_values<kOperator, T, kSetTypes<typename Unflushed<T>::Type>[I].true_value>...};
}
(std::make_index_sequence<std::size(kSetTypes<typename Unflushed<T>::Type>)>{});

template <class T>
inline constexpr bool is_half_type =
    std::is_same_v<T, f16> || std::is_same_v<T, bf16> || is_pair<T>;

/// The rows of `setp` with this opcode and of the same comparison by `set`.
template <Operator kOperator, class T>
constexpr Comparison comparison(std::string_view opcode) {
  using U = typename Unflushed<T>::Type;
  return {.opcode = opcode,
          .operands = sizeof(T) == 8 ? Width::double_word : Width::word,
          .is_half = is_half_type<U>,
          .setp = {&set_predicates<Combination::none, kOperator, T>,
                   &set_predicates<Combination::bit_and, kOperator, T>,
                   &set_predicates<Combination::bit_or, kOperator, T>,
                   &set_predicates<Combination::bit_xor, kOperator, T>},
          .set_types = kSetTypes<U>,
          .set = kSetValues<kOperator, T>};
}

}  // namespace sinter::virtual_gpu::comparison_rows
