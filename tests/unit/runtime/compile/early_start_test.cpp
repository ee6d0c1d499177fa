// The decision that a kernel may start early needs machine code without a load before the wait.
#include "runtime/compile/early_start.h"

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sinter::early_start_test {
namespace {

const Source kWaits{.entry = "k", .text = {}, .may_start_early = true};

TEST(EarlyStart, NeedsMachineCodeWithoutEarlyLoads) {
  EXPECT_TRUE(may_start_early(kWaits, {.instructions = 64}));
  EXPECT_FALSE(may_start_early(kWaits, {.instructions = 64, .loads_before_wait = 1}));
  EXPECT_FALSE(may_start_early({.entry = "k", .text = {}}, {.instructions = 64}))
      << "the kernel does not wait";
}

/// The driver compiles PTX, and sinter does not see the result.
TEST(EarlyStart, IsRefusedWithoutMachineCode) {
  EXPECT_FALSE(may_start_early(kWaits, {}));
  EXPECT_FALSE(may_start_early(kWaits, {.arch = "compute_120"}));
}

TEST(EarlyStart, ImagesThatAreNoCubinsHaveNoMachineCode) {
  for (const std::string& text : {std::string(), std::string("\x7f"), std::string("// ptx"),
                                  std::string("\x7f"
                                              "ELF"),
                                  "\x7f"
                                  "ELF" +
                                      std::string(200, '\x01')})
    EXPECT_EQ(read_machine_code(std::as_bytes(std::span(text)), "k").instructions, 0) << text;
}

}  // namespace
}  // namespace sinter::early_start_test
