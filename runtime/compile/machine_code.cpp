#include "runtime/compile/machine_code.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace sinter {
namespace {

constexpr unsigned kCounters = 6;  // counter 7 means none

/// One instruction as two 64-bit words, and its fields.
struct Instruction {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  unsigned operation() const { return low & 0x1ff; }
  bool is_load() const { return operation() == 0x181; }          // LDG
  bool is_early_wait() const { return (low & 0xfff) == 0x82e; }  // ACQBULK
  bool is_jump() const {
    constexpr std::array<unsigned, 6> kJumps = {0x147, 0x149, 0x14a,   // BRA, BRX, JMP
                                                0x14c, 0x14d, 0x150};  // JMX, EXIT, RET
    return std::ranges::find(kJumps, operation()) != kJumps.end();
  }
  bool is_always() const { return ((low >> 12) & 0xf) == 7; }
  /// The width of a load, from bits 73-75: 8, 8, 16, 16, 32, 64 or 128 bits.
  int bytes() const {
    constexpr std::array kBytes = {1, 1, 2, 2, 4, 8, 16, 16};
    return kBytes[(high >> 9) & 7];
  }
  unsigned counter() const { return (high >> 46) & 7; }
  bool waits_for(unsigned counter) const { return (high >> (52 + counter)) & 1; }
};

}  // namespace

int loads_before_wait(std::span<const std::byte> code) {
  int loads = 0;
  for (; code.size() >= kInstructionBytes; code = code.subspan(kInstructionBytes)) {
    Instruction instruction;
    std::memcpy(&instruction, code.data(), kInstructionBytes);
    if (instruction.is_early_wait()) return loads;
    loads += instruction.is_load() ? 1 : 0;
  }
  return loads;
}

LoadsInFlight most_loads_in_flight(std::span<const std::byte> code) {
  std::array<LoadsInFlight, kCounters> pending{};
  LoadsInFlight now;
  LoadsInFlight most;
  for (; code.size() >= kInstructionBytes; code = code.subspan(kInstructionBytes)) {
    Instruction instruction;
    std::memcpy(&instruction, code.data(), kInstructionBytes);
    for (unsigned counter = 0; counter < kCounters; ++counter) {
      if (!instruction.waits_for(counter)) continue;
      now.loads -= pending[counter].loads;
      now.bytes -= pending[counter].bytes;
      pending[counter] = {};
    }
    if (instruction.is_load() && instruction.counter() < kCounters) {
      for (LoadsInFlight* sum : {&now, &pending[instruction.counter()]}) {
        ++sum->loads;
        sum->bytes += instruction.bytes();
      }
      if (now.bytes > most.bytes) most = now;
    }
    if (instruction.is_jump() && instruction.is_always()) {
      pending = {};
      now = {};
    }
  }
  return most;
}

}  // namespace sinter
