// run_warp: executes one opcode of the table on 32 different lanes, for exhaustive tests of isa/.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "tests/virtual_gpu/isa/tests/lane_runner.h"

namespace sinter::virtual_gpu {

/// The bits of a register in each lane.
using WarpRegister = std::array<std::uint64_t, kLanes>;

inline WarpRegister run_warp(const Semantics& semantics, std::span<const WarpRegister> operands) {
  using namespace lane_runner_detail;
  Registers registers;
  registers.bytes.fill(kOldByte);
  Operation operation{.execute = semantics.execute, .results = {kResults[0], kNoSlot}};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    operation.operands[i] = kOperands + static_cast<Slot>(i) * kSlotBytes;
    for (int lane = 0; lane < kLanes; ++lane)
      write(registers.bytes.data() + operation.operands[i], semantics.operands[i], lane,
            operands[i][lane]);
  }
  const Approximations exact;
  LaneState state{.registers = registers.bytes.data(), .mask = kAllLanes, .approximations = &exact};
  semantics.execute(state, operation);
  WarpRegister result;
  for (int lane = 0; lane < kLanes; ++lane)
    result[lane] = read(registers.bytes.data() + kResults[0], semantics.results[0], lane);
  return result;
}

/// Executes the opcode on any number of operand tuples and compares each result with
/// `expected(operands of the lane…)`. Reports the first difference only.
template <class Expected, class... Values>
void expect_results(std::string_view opcode, Expected expected, const Values&... columns) {
  const Semantics* semantics = find_semantics(opcode);
  ASSERT_NE(semantics, nullptr) << "the table lacks the opcode " << opcode;
  ASSERT_EQ(semantics->operand_count(), static_cast<int>(sizeof...(Values))) << opcode;
  const std::size_t count = std::get<0>(std::tie(columns...)).size();
  for (std::size_t first = 0; first < count; first += kLanes) {
    const auto at = [&](std::size_t lane) { return std::min(first + lane, count - 1); };
    std::array<WarpRegister, sizeof...(Values)> operands;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      std::size_t i = 0;
      ((operands[i++][lane] = columns[at(lane)]), ...);
    }
    const WarpRegister results = run_warp(*semantics, operands);
    for (std::size_t lane = 0; lane < kLanes && first + lane < count; ++lane) {
      const std::uint64_t wanted = expected(columns[at(lane)]...);
      if (results[lane] == wanted) continue;
      std::string text;
      ((text += fmt::format(" {:#x}", columns[at(lane)])), ...);
      ADD_FAILURE() << opcode << text << fmt::format(": {:#x}", results[lane])
                    << fmt::format(", expected {:#x}", wanted);
      return;
    }
  }
}

}  // namespace sinter::virtual_gpu
