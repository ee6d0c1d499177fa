// The choice of a BLAS for the host device, and its messages.
#include "runtime/libraries/host/host_blas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::host_blas_test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(HostBlas, LoopsNeedNoLibrary) {
  const HostBlasOrReason loops = open_host_blas("loops");
  ASSERT_TRUE(loops.blas);
  EXPECT_EQ(loops.blas->name(), "loops");
  EXPECT_EQ(loops.blas->path(), "");
  EXPECT_FALSE(loops.blas->has(static_cast<const float*>(nullptr)));
  EXPECT_FALSE(loops.blas->has(static_cast<const double*>(nullptr)));
}

TEST(HostBlas, WithoutAChoiceSomethingIsFound) { EXPECT_TRUE(open_host_blas("").blas); }

TEST(HostBlas, AMissingFileIsAnError) {
  const HostBlasOrReason missing = open_host_blas("/no/libblas.so");
  EXPECT_EQ(missing.blas, nullptr);
  EXPECT_EQ(missing.reason,
            "SINTER_HOST_BLAS=/no/libblas.so: it cannot be opened (/no/libblas.so: cannot open "
            "shared object file: No such file or directory); install the library, or use openblas, "
            "onednn, loops or the path of a library");
}

TEST(HostBlas, ALibraryWithoutProductsIsAnError) {
  const HostBlasOrReason other = open_host_blas("libm.so.6");
  EXPECT_EQ(other.blas, nullptr);
  EXPECT_THAT(other.reason,
              AllOf(StartsWith("SINTER_HOST_BLAS=libm.so.6: libm.so.6 has neither cblas_sgemm"),
                    EndsWith("the path of a library")));
}

TEST(HostBlas, MultipliesWithEachLibraryOfTheMachine) {
  const float a[] = {1, 2, 3, 4, 5, 6};  // [2, 3]
  const float b[] = {1, 0, 2, 1, 0, 3};  // [3, 2]
  for (const char* const choice : {"openblas", "onednn"}) {
    const HostBlasOrReason opened = open_host_blas(choice);
    if (!opened.blas) continue;
    EXPECT_THAT(opened.blas->path(), HasSubstr(".so")) << choice;
    float c[] = {NAN, NAN, NAN, NAN};
    BlasProduct<float> product{.m = 2,
                               .n = 2,
                               .k = 3,
                               .a = a,
                               .b = b,
                               .c = c,
                               .a_stride = 3,
                               .b_stride = 2,
                               .c_stride = 2};
    opened.blas->multiply(product);
    EXPECT_THAT(c, testing::ElementsAre(5, 11, 14, 23)) << choice;
    product.adds = true;
    opened.blas->multiply(product);
    EXPECT_THAT(c, testing::ElementsAre(10, 22, 28, 46)) << choice;
    product = {.m = 3,
               .n = 3,
               .k = 2,
               .a = a,
               .b = b,
               .c = nullptr,
               .a_stride = 3,
               .b_stride = 2,
               .c_stride = 3,
               .transpose_a = true,
               .transpose_b = true};
    float d[9] = {};
    product.c = d;
    opened.blas->multiply(product);
    EXPECT_THAT(d, testing::ElementsAre(1, 6, 12, 2, 9, 15, 3, 12, 18)) << choice;
  }
}

}  // namespace
}  // namespace sinter::host_blas_test
