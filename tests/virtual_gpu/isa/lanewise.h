// lanewise<F>: makes an instruction out of a function of one lane.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/virtual_gpu/isa/semantics.h"

namespace sinter::virtual_gpu {

/// Results of an instruction with two predicates, as `setp` with `p|q`.
struct PredicatePair {
  bool first, second;
};
/// A sum with its carry, for `add.cc` and its kin.
template <class T>
struct WithCarry {
  T value;
  bool carry;
};

namespace lanewise_detail {

template <class T>
inline constexpr bool is_predicate = std::is_same_v<T, bool>;

template <class T>
constexpr Width width_of() {
  if constexpr (is_predicate<T>)
    return Width::predicate;
  else
    return sizeof(T) == 8 ? Width::double_word : Width::word;
}

/// Bytes of 0 or 1 -> a mask; byte i becomes bit i. A product moves each of 8 bytes to its bit of
/// the top byte. Every term of the product has a bit of its own, so that nothing carries.
inline Mask pack_bits(const std::array<std::uint8_t, kLanes>& lanes) {
  Mask bits = 0;
  for (int i = 0; i < kLanes; i += 8) {
    std::uint64_t bytes;
    std::memcpy(&bytes, lanes.data() + i, sizeof bytes);
    bits |= static_cast<Mask>((bytes * 0x0102040810204080u) >> 56) << i;
  }
  return bits;
}

/// The inverse. Each byte of the copies keeps one bit, and a carry out of bits 0 to 6 makes it 1.
inline std::uint64_t unpack_byte(Mask bits) {
  const std::uint64_t kept = (bits & 0xff) * 0x0101010101010101u & 0x8040201008040201u;
  return ((kept + 0x7f7f7f7f7f7f7f7fu) >> 7) & 0x0101010101010101u;
}
inline void unpack_bits(Mask bits, std::array<std::uint8_t, kLanes>& lanes) {
  // Stores of 16 bytes, because a load of a vector has to wait if it spans several stores.
  using Pair = std::uint64_t __attribute__((vector_size(16)));
  for (int i = 0; i < kLanes; i += 16) {
    const Pair pair = {unpack_byte(bits >> i), unpack_byte(bits >> (i + 8))};
    std::memcpy(lanes.data() + i, &pair, sizeof pair);
  }
}

inline Mask read_mask(const std::byte* source) {
  Mask bits;
  std::memcpy(&bits, source, sizeof bits);
  return bits;
}
/// Replaces the bits of `lanes`.
inline Mask blend(Mask old_bits, Mask new_bits, Mask lanes) {
  return (old_bits & ~lanes) | (new_bits & lanes);
}
inline void write_mask(std::byte* result, Mask bits, Mask lanes) {
  const Mask blended = blend(read_mask(result), bits, lanes);
  std::memcpy(result, &blended, sizeof blended);
}

/// The lanes of an operand. Types of less than 32 bits are the low bits of a word.
template <class T>
struct Reader {
  const std::byte* source;
  Reader(const std::byte* place, bool /*is_negated*/) : source(place) {}
  T operator[](int lane) const {
    T value;
    std::memcpy(&value, source + lane * (sizeof(T) == 8 ? 8 : 4), sizeof value);
    return value;
  }
};
template <>
struct Reader<bool> {
  std::array<std::uint8_t, kLanes> lanes;
  explicit Reader(Mask bits) { unpack_bits(bits, lanes); }
  Reader(const std::byte* place, bool is_negated)
      : Reader(is_negated ? ~read_mask(place) : read_mask(place)) {}
  bool operator[](int lane) const { return lanes[static_cast<std::size_t>(lane)] != 0; }
};

/// The lanes of a result. Signed types of less than 32 bits are extended by their sign, others by
/// zeros. Predicates are kept until `finish`, so that a predicate may be an operand and a result.
template <class T>
struct Writer {
  std::byte* result;
  explicit Writer(std::byte* place) : result(place) {}
  void set(int lane, T value) {
    if constexpr (sizeof(T) >= 4) {
      std::memcpy(result + lane * sizeof(T), &value, sizeof value);
    } else if constexpr (std::is_integral_v<T>) {
      const std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t> wide = value;
      std::memcpy(result + lane * 4, &wide, sizeof wide);
    } else {  // a struct of 16 bits
      const std::uint32_t wide = std::bit_cast<std::uint16_t>(value);
      std::memcpy(result + lane * 4, &wide, sizeof wide);
    }
  }
  void finish(Mask) {}
};
template <>
struct Writer<bool> {
  std::byte* result;
  std::array<std::uint8_t, kLanes> lanes = {};
  explicit Writer(std::byte* place) : result(place) {}
  void set(int lane, bool value) { lanes[static_cast<std::size_t>(lane)] = value; }
  void finish(Mask mask) { write_mask(result, pack_bits(lanes), mask); }
};

template <class F>
struct Signature;
template <class R, class... A>
struct Signature<R (*)(A...)> {
  static constexpr bool kHasMode = false;
  static constexpr bool kHasCarry = false;
  using Result = R;
  using Operands = std::tuple<A...>;
};
template <class R, class... A>
struct Signature<R (*)(const Approximations&, A...)> {
  static constexpr bool kHasMode = true;
  static constexpr bool kHasCarry = false;
  using Result = R;
  using Operands = std::tuple<A...>;
};
/// A function that begins with the tag CarryIn reads the carry of the lane.
struct CarryIn {
  bool value;
};
template <class R, class... A>
struct Signature<R (*)(CarryIn, A...)> {
  static constexpr bool kHasMode = false;
  static constexpr bool kHasCarry = true;
  using Result = R;
  using Operands = std::tuple<A...>;
};

/// The results of an instruction whose function returns R.
template <class R>
struct Results {
  static constexpr std::array<Width, 2> kWidths = {width_of<R>(), Width::none};
  Writer<R> writer;
  Results(LaneState& state, const Operation& operation) : writer(state.at(operation.results[0])) {}
  void set(int lane, R value) { writer.set(lane, value); }
  void finish(LaneState& state) { writer.finish(state.mask); }
};
template <>
struct Results<PredicatePair> {
  static constexpr std::array<Width, 2> kWidths = {Width::predicate, Width::predicate};
  Writer<bool> first, second;
  Results(LaneState& state, const Operation& operation)
      : first(place(state, operation.results[0])), second(place(state, operation.results[1])) {}
  /// Either result may be the sink `_`.
  static std::byte* place(LaneState& state, Slot slot) {
    return slot == kNoSlot ? nullptr : state.at(slot);
  }
  void set(int lane, PredicatePair value) {
    first.set(lane, value.first);
    second.set(lane, value.second);
  }
  void finish(LaneState& state) {
    if (first.result) first.finish(state.mask);
    if (second.result) second.finish(state.mask);
  }
};
template <class T>
struct Results<WithCarry<T>> {
  static constexpr std::array<Width, 2> kWidths = {width_of<T>(), Width::none};
  Writer<T> writer;
  std::array<std::uint8_t, kLanes> carries = {};
  Results(LaneState& state, const Operation& operation) : writer(state.at(operation.results[0])) {}
  void set(int lane, WithCarry<T> value) {
    writer.set(lane, value.value);
    carries[static_cast<std::size_t>(lane)] = value.carry;
  }
  void finish(LaneState& state) {
    state.carry = blend(state.carry, pack_bits(carries), state.mask);
  }
};

template <auto F, class Operands>
struct Runner;
template <auto F, class... A>
struct Runner<F, std::tuple<A...>> {
  using S = Signature<decltype(F)>;
  using R = typename S::Result;
  static constexpr auto kIndices = std::index_sequence_for<A...>{};

  template <std::size_t... I>
  static void run_lanes(LaneState& state, const Operation& operation, std::index_sequence<I...>) {
    const std::tuple<Reader<A>...> operands{
        Reader<A>(state.source(operation.operands[I]), (operation.negated_operands >> I) & 1)...};
    Results<R> results(state, operation);
    [[maybe_unused]] const std::conditional_t<S::kHasCarry, Reader<bool>, Mask> carry(state.carry);
    const auto run_lane = [&](int lane) {
      if constexpr (S::kHasMode) {
        results.set(lane, F(*state.approximations, std::get<I>(operands)[lane]...));
      } else if constexpr (S::kHasCarry) {
        results.set(lane, F(CarryIn{carry[lane]}, std::get<I>(operands)[lane]...));
      } else {
        results.set(lane, F(std::get<I>(operands)[lane]...));
      }
    };
    if (state.mask == kAllLanes) {
      // A result is the slot of an operand or does not overlap it: no lane depends on another.
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
      for (int lane = 0; lane < kLanes; ++lane) run_lane(lane);
    } else {
      for (Mask rest = state.mask; rest; rest &= rest - 1) run_lane(std::countr_zero(rest));
    }
    results.finish(state);
  }

  /// All lanes at once: the lanes of each combination of operands for which F is true.
  template <std::size_t... I>
  static void run_predicates(LaneState& state, const Operation& operation,
                             std::index_sequence<I...>) {
    const Mask operands[] = {read_mask(state.source(operation.operands[I])) ^
                             ((operation.negated_operands >> I) & 1 ? kAllLanes : 0)...};
    Mask result = 0;
    for (unsigned values = 0; values < 1u << sizeof...(A); ++values) {
      if (!F(((values >> I) & 1) != 0 ...)) continue;
      result |= (((values >> I) & 1 ? operands[I] : ~operands[I]) & ...);
    }
    write_mask(state.at(operation.results[0]), result, state.mask);
  }

  static void run(LaneState& state, const Operation& operation) {
    if constexpr (is_predicate<R> && (is_predicate<A> && ...) && !S::kHasMode && !S::kHasCarry) {
      run_predicates(state, operation, kIndices);
    } else {
      run_lanes(state, operation, kIndices);
    }
  }

  static constexpr Semantics row(std::string_view opcode, std::string_view section) {
    Semantics result{.opcode = opcode,
                     .execute = &run,
                     .results = Results<R>::kWidths,
                     .operands = {},
                     .section = section};
    const Width widths[] = {width_of<A>()..., Width::none};
    for (std::size_t i = 0; i < sizeof...(A); ++i) result.operands[i] = widths[i];
    return result;
  }
};

}  // namespace lanewise_detail

using lanewise_detail::CarryIn;

/// The row of an instruction that computes F(operands…) in each active lane. F is a function of
/// integers, floats, `bool` for predicates, or structs of 16 bits. A first parameter
/// `const Approximations&` gets the mode of approximations, one of type CarryIn the condition code.
template <auto F>
constexpr Semantics lanewise(std::string_view opcode, std::string_view section) {
  using Operands = typename lanewise_detail::Signature<decltype(F)>::Operands;
  return lanewise_detail::Runner<F, Operands>::row(opcode, section);
}

}  // namespace sinter::virtual_gpu
