// Which saved architecture runs on a device.
#include "runtime/saved/arch_choice.h"

#include <gtest/gtest.h>

#include <vector>

namespace sinter::arch_choice_test {
namespace {

TEST(ArchChoice, CubinsRunOnLaterMinorVersions) {
  EXPECT_TRUE(runs_on("sm_80", "sm_80"));
  EXPECT_TRUE(runs_on("sm_80", "sm_86"));
  EXPECT_TRUE(runs_on("sm_100", "sm_103"));
  EXPECT_FALSE(runs_on("sm_86", "sm_80"));
  EXPECT_FALSE(runs_on("sm_80", "sm_90"));
  EXPECT_FALSE(runs_on("sm_90", "sm_100"));
  EXPECT_FALSE(runs_on("sm_10", "sm_100"));
}

TEST(ArchChoice, EmbeddedSystemsRunOnlyTheirOwn) {
  EXPECT_TRUE(runs_on("sm_87", "sm_87"));
  EXPECT_FALSE(runs_on("sm_86", "sm_87"));
  EXPECT_FALSE(runs_on("sm_87", "sm_89"));
  EXPECT_TRUE(runs_on("sm_88", "sm_88"));
  EXPECT_FALSE(runs_on("sm_86", "sm_88"));
  EXPECT_FALSE(runs_on("sm_88", "sm_89"));
}

TEST(ArchChoice, TheHostRunsOnlyItsOwn) {
  EXPECT_TRUE(runs_on("host", "host"));
  EXPECT_FALSE(runs_on("host", "sm_80"));
  EXPECT_FALSE(runs_on("sm_80", "host"));
}

TEST(ArchChoice, InvalidNamesRunNowhere) {
  for (const char* arch : {"", "sm_", "sm_9x", "sm_-90", "sm_99999999999", "SM_90"})
    EXPECT_FALSE(runs_on(arch, "sm_90")) << arch;
}

TEST(ArchChoice, TakesTheBest) {
  const std::vector<std::string> archs = {"sm_90", "sm_80", "sm_86", "host"};
  EXPECT_EQ(best_arch(archs, "sm_80"), 1U);
  EXPECT_EQ(best_arch(archs, "sm_86"), 2U);
  EXPECT_EQ(best_arch(archs, "sm_89"), 2U);
  EXPECT_EQ(best_arch(archs, "sm_90"), 0U);
  EXPECT_EQ(best_arch(archs, "host"), 3U);
  EXPECT_EQ(best_arch(archs, "sm_75"), std::nullopt);
  EXPECT_EQ(best_arch({}, "sm_90"), std::nullopt);
}

TEST(ArchChoice, PtxRunsOnEveryGpuThatIsNotOlder) {
  const std::vector<std::string> archs = {"sm_80", "sm_120", "host", "sm_90", "sm_87"};
  EXPECT_EQ(archs_of_older_ptx(archs, "sm_100"), (std::vector<std::size_t>{3, 4, 0}));
  EXPECT_EQ(archs_of_older_ptx(archs, "sm_90"), (std::vector<std::size_t>{3, 4, 0}));
  EXPECT_TRUE(archs_of_older_ptx(archs, "sm_75").empty());
  EXPECT_TRUE(archs_of_older_ptx(archs, "host").empty());
}

}  // namespace
}  // namespace sinter::arch_choice_test
