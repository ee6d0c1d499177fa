// Options from the environment.
#include "sinter/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/errors.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Sets a variable for the length of a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(Options, StayAsGivenWithoutVariables) {
  const Options options = options_from_environment({.tune = Tune::wide, .skip = {"fold"}});
  EXPECT_EQ(options.tune, Tune::wide);
  EXPECT_THAT(options.skip, ElementsAre("fold"));
  EXPECT_THAT(options.dump, IsEmpty());
}

TEST(Options, TakeListsFromTheEnvironment) {
  const Variable dump("SINTER_DUMP", "fuse,source");
  const Variable skip("SINTER_SKIP", "fold");
  const Variable tune("SINTER_TUNE", "off");
  const Options options = options_from_environment();
  EXPECT_THAT(options.dump, ElementsAre("fuse", "source"));
  EXPECT_THAT(options.skip, ElementsAre("fold"));
  EXPECT_EQ(options.tune, Tune::off);
}

TEST(Options, RefuseAnUnknownEffort) {
  const Variable tune("SINTER_TUNE", "hard");
  EXPECT_EQ(test::error_of([] { options_from_environment(); }),
            "SINTER_TUNE=hard: expected off, quick or wide");
}

}  // namespace
}  // namespace sinter
