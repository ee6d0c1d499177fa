// Which kernels wait for earlier launches, so that they may start early.
#include "codegen/text/source.h"

#include <gtest/gtest.h>

namespace sinter::source_test {
namespace {

TEST(EarlyStart, DependsOnTheComputeCapabilityAlone) {
  for (const char* arch : {"sm_90", "sm_103", "sm_121", "sm_130"}) {
    Source source;
    EXPECT_EQ(write_early_start_wait(arch, source), "  wait_for_prior_launches();\n") << arch;
    EXPECT_TRUE(source.may_start_early) << arch;
  }
  for (const char* arch : {"sm_75", "sm_87", "sm_89"}) {
    Source source;
    EXPECT_EQ(write_early_start_wait(arch, source), "") << arch;
    EXPECT_FALSE(source.may_start_early) << arch;
  }
}

TEST(EarlyStart, IsNotForCooperativeKernels) {
  Source source;
  source.is_cooperative = true;
  EXPECT_EQ(write_early_start_wait("sm_90", source), "");
}

}  // namespace
}  // namespace sinter::source_test
