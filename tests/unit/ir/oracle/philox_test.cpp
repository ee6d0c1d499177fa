// The oracle's Philox, compared with the known answers of its authors: file kat_vectors of
// Random123 (github.com/DEShawResearch/random123), lines "philox4x32 10".
#include "ir/ops/op_formulas.h"

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

namespace sinter::philox_test {
namespace {

struct KnownAnswer {
  std::array<std::uint32_t, 4> counter;
  std::array<std::uint32_t, 2> key;
  std::array<std::uint32_t, 4> words;
};

constexpr KnownAnswer kKnownAnswers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

Wide packed(std::uint32_t low, std::uint32_t high) {
  return static_cast<std::uint64_t>(high) << 32 | low;
}

TEST(PhiloxTest, MatchesTheKnownAnswers) {
  for (const KnownAnswer& answer : kKnownAnswers)
    for (int word = 0; word < 4; ++word) {
      const Wide block = packed(answer.counter[0], answer.counter[1]);
      const Wide bits =
          op_formulas::philox(packed(answer.key[0], answer.key[1]),
                              packed(answer.counter[2], answer.counter[3]), block * 4 + word);
      EXPECT_EQ(static_cast<std::uint32_t>(bits), answer.words[static_cast<std::size_t>(word)]);
    }
}

}  // namespace
}  // namespace sinter::philox_test
