// The choice of oneDNN for convolutions, and its messages.
#include "runtime/libraries/onednn/onednn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinter/error.h"

namespace sinter::onednn_test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(OneDnn, ProductsNeedNoLibrary) {
  const OneDnnOrReason none = open_onednn("products");
  EXPECT_EQ(none.library, nullptr);
  EXPECT_EQ(none.reason, "");
  EXPECT_FALSE(none.is_error);
}

TEST(OneDnn, WithoutAChoiceAMissingLibraryIsNoError) {
  const OneDnnOrReason found = open_onednn("");
  EXPECT_FALSE(found.is_error);
  if (!found.library) {
    EXPECT_THAT(found.reason, StartsWith("oneDNN was not found: "));
  }
}

TEST(OneDnn, AMissingFileIsAnError) {
  const OneDnnOrReason missing = open_onednn("/no/libdnnl.so");
  EXPECT_EQ(missing.library, nullptr);
  EXPECT_TRUE(missing.is_error);
  EXPECT_EQ(missing.reason,
            "SINTER_HOST_CONV=/no/libdnnl.so: it cannot be opened (/no/libdnnl.so: cannot open "
            "shared object file: No such file or directory); install the library, or use onednn, "
            "products or the path of a library");
}

TEST(OneDnn, AnotherLibraryIsAnError) {
  const OneDnnOrReason other = open_onednn("libm.so.6");
  EXPECT_TRUE(other.is_error);
  EXPECT_THAT(other.reason,
              AllOf(StartsWith("SINTER_HOST_CONV=libm.so.6: "),
                    HasSubstr("libm.so.6 has no dnnl_version"), EndsWith("the path of a library")));
}

class OneDnnOfMachine : public testing::Test {
 protected:
  void SetUp() override {
    const OneDnnOrReason opened = open_onednn("onednn");
    library = opened.library;
    if (!library) GTEST_SKIP() << opened.reason;
  }
  const OneDnn* library = nullptr;
};

TEST_F(OneDnnOfMachine, HasAVersionAndAPath) {
  EXPECT_THAT(library->version_text(), testing::MatchesRegex("[23]\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(library->path, HasSubstr("libdnnl.so"));
  EXPECT_NE(library->engine, nullptr);
}

TEST_F(OneDnnOfMachine, FailuresNameTheCallAndTheLibrary) {
  library->check(dnnl::dnnl_success, "dnnl_stream_create");
  try {
    library->check(dnnl::dnnl_unimplemented, "dnnl_stream_create");
    ADD_FAILURE() << "no exception";
  } catch (const DriverError& error) {
    EXPECT_THAT(error.what(),
                AllOf(StartsWith("dnnl_stream_create of oneDNN " + library->version_text()),
                      HasSubstr(library->path), HasSubstr("failed with the status 3"),
                      EndsWith("SINTER_HOST_CONV=products does without it")));
  }
}

TEST_F(OneDnnOfMachine, RestoresTheThreadsOfTheCaller) {
  if (!library->omp_set_num_threads) GTEST_SKIP() << "the library uses one thread";
  library->omp_set_num_threads(3);
  {
    const OneDnnThread one_thread(*library);
    EXPECT_EQ(library->omp_get_max_threads(), 1);
  }
  EXPECT_EQ(library->omp_get_max_threads(), 3);
}

}  // namespace
}  // namespace sinter::onednn_test
