// The table as a whole: opcodes are unique, rows are complete, and lanes are independent.
#include "tests/virtual_gpu/isa/semantics.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <regex>
#include <set>
#include <string>

namespace sinter::virtual_gpu::semantics_test {
namespace {

const std::span<const Semantics> kTopics[] = {
    integer_semantics(), bit_semantics(),        comparison_semantics(), float_semantics(),
    half_semantics(),    conversion_semantics(), approximate_semantics()};

TEST(Semantics, OpcodesAreUnique) {
  std::set<std::string_view> opcodes;
  for (const std::span<const Semantics> rows : kTopics)
    for (const Semantics& row : rows) EXPECT_TRUE(opcodes.insert(row.opcode).second) << row.opcode;
}

TEST(Semantics, RowsAreFoundByTheirOpcode) {
  for (const std::span<const Semantics> rows : kTopics)
    for (const Semantics& row : rows) EXPECT_EQ(find_semantics(row.opcode), &row) << row.opcode;
  EXPECT_EQ(find_semantics("add.s24"), nullptr);
  EXPECT_EQ(find_semantics("add"), nullptr);
  EXPECT_EQ(find_semantics(""), nullptr);
}

TEST(Semantics, RowsAreComplete) {
  static const std::regex opcode(R"([a-z][a-z0-9]*(\.[a-zA-Z0-9:]+)+)");
  static const std::regex section(R"(9\.7\.[0-9]+\.[0-9]+)");
  for (const std::span<const Semantics> rows : kTopics) {
    for (const Semantics& row : rows) {
      EXPECT_TRUE(std::regex_match(std::string(row.opcode), opcode)) << row.opcode;
      EXPECT_TRUE(std::regex_match(std::string(row.section), section)) << row.opcode;
      EXPECT_NE(row.execute, nullptr) << row.opcode;
      EXPECT_NE(row.results[0], Width::none) << row.opcode;
      EXPECT_GE(row.operand_count(), 1) << row.opcode;
    }
  }
}

/// Runs an opcode on registers of 4 slots of 256 bytes: results 0 and 1, operands 2 and 3.
struct Warp {
  std::array<std::byte, 1024> registers = {};
  Mask carry = 0;
  template <class T>
  void set(int slot, int lane, T value) {
    std::memcpy(&registers[slot * 256 + lane * sizeof value], &value, sizeof value);
  }
  template <class T>
  T get(int slot, int lane = 0) const {
    T value;
    std::memcpy(&value, &registers[slot * 256 + lane * sizeof value], sizeof value);
    return value;
  }
  void run(std::string_view opcode, Mask mask) {
    const Semantics* semantics = find_semantics(opcode);
    ASSERT_NE(semantics, nullptr) << opcode;
    Operation operation{.execute = semantics->execute};
    operation.results = {0, 256};
    operation.operands = {512, 768};
    LaneState state{.registers = registers.data(), .mask = mask, .carry = carry};
    semantics->execute(state, operation);
    carry = state.carry;
  }
};

constexpr Mask kMasks[] = {kAllLanes, 0x5a5a0ff1u};

TEST(Semantics, LanesOfWordsAreIndependent) {
  for (const Mask mask : kMasks) {
    Warp warp;
    for (int lane = 0; lane < kLanes; ++lane) {
      warp.set(2, lane, lane * 1000);
      warp.set(3, lane, lane * lane);
    }
    warp.run("sub.s32", mask);
    for (int lane = 0; lane < kLanes; ++lane)
      EXPECT_EQ(warp.get<int>(0, lane), (mask >> lane) & 1 ? lane * (1000 - lane) : 0) << lane;
  }
}

TEST(Semantics, LanesOfTwoWidthsAreIndependent) {
  for (const Mask mask : kMasks) {
    Warp warp;
    for (int lane = 0; lane < kLanes; ++lane) {
      warp.set(2, lane, (lane - 16) * 100000000);
      warp.set(3, lane, 100 + lane);
    }
    warp.run("mul.wide.s32", mask);
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::int64_t product = (lane - 16) * std::int64_t{100000000} * (100 + lane);
      EXPECT_EQ(warp.get<std::int64_t>(0, lane), (mask >> lane) & 1 ? product : 0) << lane;
    }
  }
}

TEST(Semantics, LanesOfPredicatesAreIndependent) {
  constexpr Mask less = 0x80c4a6f1u;
  for (const Mask mask : kMasks) {
    Warp warp;
    for (int lane = 0; lane < kLanes; ++lane) {
      warp.set(2, lane, (less >> lane) & 1 ? -lane - 1 : lane);
      warp.set(3, lane, (less >> lane) & 1 ? lane : -lane);
    }
    warp.run("setp.lt.s32", mask);
    EXPECT_EQ(warp.get<Mask>(0), less & mask);
    EXPECT_EQ(warp.get<Mask>(1), ~less & mask);
  }
}

TEST(Semantics, LanesOfPredicateLogicAreIndependent) {
  for (const Mask mask : kMasks) {
    Warp warp;
    warp.set(0, 0, Mask{0x0f0f0f0f});
    warp.set(2, 0, Mask{0xff00ff00});
    warp.set(3, 0, Mask{0x12345678});
    warp.run("xor.pred", mask);
    EXPECT_EQ(warp.get<Mask>(0), (0xed34a978u & mask) | (0x0f0f0f0fu & ~mask));
  }
}

TEST(Semantics, LanesOfTheCarryAreIndependent) {
  constexpr Mask carry_in = 0x13579bdfu;
  constexpr Mask full = 0xff0000ffu;  // lanes whose first operand is all ones
  for (const Mask mask : kMasks) {
    Warp warp;
    warp.carry = carry_in;
    for (int lane = 0; lane < kLanes; ++lane)
      warp.set(2, lane, (full >> lane) & 1 ? 0xffffffffu : 7u);
    warp.run("addc.cc.u32", mask);
    EXPECT_EQ(warp.carry, (carry_in & full & mask) | (carry_in & ~mask));
    EXPECT_EQ(warp.get<std::uint32_t>(0, 8), 8u);
    EXPECT_EQ(warp.get<std::uint32_t>(0, 10), 7u);
  }
}

TEST(Semantics, ResultsOf16BitsAreExtendedToTheRegister) {
  Warp warp;
  warp.set(2, 0, 0xffff8000u);
  warp.run("add.s16", kAllLanes);
  EXPECT_EQ(warp.get<std::uint32_t>(0), 0xffff8000u);
  warp.run("add.u16", kAllLanes);
  EXPECT_EQ(warp.get<std::uint32_t>(0), 0x00008000u);
}

}  // namespace
}  // namespace sinter::virtual_gpu::semantics_test
