// Options from the environment.
#include "sinter/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/support/options_table.h"
#include "tests/support/files/errors.h"

namespace sinter::options_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// Sets an environment variable during a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(Options, AreUnchangedWithoutVariables) {
  const Options options = options_from_environment({.tune = Tune::wide, .skip = {"fold"}});
  EXPECT_EQ(options.tune, Tune::wide);
  EXPECT_THAT(options.skip, ElementsAre("fold"));
  EXPECT_THAT(options.dump, IsEmpty());
}

TEST(Options, ReadListsFromTheEnvironment) {
  const Variable dump("SINTER_DUMP", "fuse,source");
  const Variable skip("SINTER_SKIP", "fold");
  const Variable tune("SINTER_TUNE", "off");
  const Options options = options_from_environment();
  EXPECT_THAT(options.dump, ElementsAre("fuse", "source"));
  EXPECT_THAT(options.skip, ElementsAre("fold"));
  EXPECT_EQ(options.tune, Tune::off);
}

TEST(Options, RejectAnUnknownTuneEffort) {
  const Variable tune("SINTER_TUNE", "hard");
  EXPECT_EQ(test::error_of([] { options_from_environment(); }),
            "SINTER_TUNE=hard: expected off, quick or wide");
}

TEST(Options, ReadEveryVariableOfTheTable) {
  const Variable debug("SINTER_DEBUG", "3");
  const Variable trace("SINTER_TRACE", "/tmp/trace.json");
  const Variable cache("SINTER_CACHE", "read_only");
  const Variable bytes("SINTER_CACHE_BYTES", "1000");
  const Variable verify("SINTER_VERIFY", "cache");
  const Variable tune("SINTER_TUNE", "wide");
  const Options options = options_from_environment();
  EXPECT_EQ(options.debug, 3);
  EXPECT_EQ(options.trace, "/tmp/trace.json");
  EXPECT_EQ(options.cache.mode, CacheMode::read_only);
  EXPECT_EQ(options.cache.max_bytes, 1000);
  EXPECT_TRUE(options.cache.verify);
  EXPECT_EQ(options.tune, Tune::wide);
  // with_environment applies only the variables that override options of the program.
  const Options always = with_environment({.tune = Tune::off, .debug = 1});
  EXPECT_EQ(always.debug, 3);
  EXPECT_EQ(always.cache.mode, CacheMode::read_only);
  EXPECT_EQ(always.tune, Tune::off);
}

TEST(Options, ListAllowedValuesInErrors) {
  for (const OptionInfo& option : option_table()) {
    if (option.variable.empty() || option.values.find('|') == std::string_view::npos) continue;
    const std::string variable(option.variable);
    const Variable bad(variable.c_str(), "nonsense");
    const std::string error = test::error_of([] { options_from_environment(); });
    EXPECT_THAT(error, StartsWith(variable + "=nonsense: expected "));
    EXPECT_THAT(error, HasSubstr(std::string(option.values.substr(0, option.values.find('|')))));
  }
  const Variable bytes("SINTER_CACHE_BYTES", "-5");
  EXPECT_EQ(test::error_of([] { options_from_environment(); }),
            "SINTER_CACHE_BYTES=-5: expected a number of bytes");
}

TEST(Options, TableHasTheDefaults) {
  const auto default_of = [](std::string_view name) {
    for (const OptionInfo& option : option_table())
      if (option.name == name) return option.default_text;
    return std::string("(no row)");
  };
  EXPECT_EQ(default_of("tune"), "quick");
  EXPECT_EQ(default_of("fuse"), "on");
  EXPECT_EQ(default_of("cache.mode"), "read_write");
  EXPECT_EQ(default_of("cache.verify"), "off");
  EXPECT_EQ(default_of("debug"), "0");
  EXPECT_EQ(default_of("force_candidate"), "-1");
}

}  // namespace
}  // namespace sinter::options_test
