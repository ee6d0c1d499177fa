// Compares runtime/collectives/nccl/nccl_abi.h and the signatures with NCCL's real header, where
// present.
#include "runtime/collectives/nccl/nccl.h"

#include <cstddef>

#include "tests/unit/runtime/libraries/cuda/same_signature.h"

#include <gtest/gtest.h>

#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#define HAS_NCCL_HEADER 1
#include <nccl.h>
#endif

namespace sinter::nccl_abi_test {
namespace {

#ifndef HAS_NCCL_HEADER

TEST(NcclAbi, EqualsTheRealHeader) { GTEST_SKIP() << "nccl.h is not on the include path"; }

#else

#define SAME_NCCL_VALUE(NAME) \
  static_assert(static_cast<int>(sinter::nccl::NAME) == static_cast<int>(::NAME))

SAME_NCCL_VALUE(ncclSuccess);
SAME_NCCL_VALUE(ncclUnhandledCudaError);
SAME_NCCL_VALUE(ncclSystemError);
SAME_NCCL_VALUE(ncclInternalError);
SAME_NCCL_VALUE(ncclInvalidArgument);
SAME_NCCL_VALUE(ncclInvalidUsage);
SAME_NCCL_VALUE(ncclRemoteError);
SAME_NCCL_VALUE(ncclInProgress);
SAME_NCCL_VALUE(ncclSum);
SAME_NCCL_VALUE(ncclProd);
SAME_NCCL_VALUE(ncclMax);
SAME_NCCL_VALUE(ncclMin);
SAME_NCCL_VALUE(ncclInt8);
SAME_NCCL_VALUE(ncclUint8);
SAME_NCCL_VALUE(ncclInt32);
SAME_NCCL_VALUE(ncclUint32);
SAME_NCCL_VALUE(ncclInt64);
SAME_NCCL_VALUE(ncclUint64);
SAME_NCCL_VALUE(ncclFloat16);
SAME_NCCL_VALUE(ncclFloat32);
SAME_NCCL_VALUE(ncclFloat64);
SAME_NCCL_VALUE(ncclBfloat16);

// The real header has NCCL_CONFIG_UNDEF_INT as a macro.
#define SAME_NCCL_FIELD(NAME)                                                     \
  static_assert(offsetof(sinter::nccl::ncclConfig_t, NAME) == offsetof(::ncclConfig_t, NAME) && \
                sizeof(sinter::nccl::ncclConfig_t::NAME) == sizeof(::ncclConfig_t::NAME))

SAME_NCCL_FIELD(size);
SAME_NCCL_FIELD(magic);
SAME_NCCL_FIELD(version);
SAME_NCCL_FIELD(blocking);
SAME_NCCL_FIELD(cgaClusterSize);
SAME_NCCL_FIELD(minCTAs);
SAME_NCCL_FIELD(maxCTAs);
SAME_NCCL_FIELD(netName);
SAME_NCCL_FIELD(splitShare);
static_assert(sizeof(sinter::nccl::ncclConfig_t) <= sizeof(::ncclConfig_t));
static_assert(sizeof(sinter::nccl::ncclUniqueId) == sizeof(::ncclUniqueId));

// Signatures: results and parameters of the same size and kind (pointer or number).
#define SYMBOL(RESULT, NAME, PARAMETERS) \
  static_assert(test::kSameSignature<decltype(sinter::nccl::Table::NAME), decltype(&::NAME)>);
#include "runtime/collectives/nccl/nccl_symbols.def"

TEST(NcclAbi, EqualsTheRealHeader) {
  const ::ncclConfig_t real = NCCL_CONFIG_INITIALIZER;
  const nccl::ncclConfig_t ours;
  EXPECT_EQ(ours.magic, real.magic);
  EXPECT_LE(ours.version, real.version);
  EXPECT_EQ(ours.blocking, real.blocking);
  EXPECT_EQ(ours.splitShare, real.splitShare);
}

#undef SAME_NCCL_VALUE
#undef SAME_NCCL_FIELD

#endif

/// The real library works without a GPU, up to the first communicator.
TEST(NcclAbi, TheRealLibraryAnswers) {
  const NcclOrReason& opened = find_nccl();
  if (!opened.library) GTEST_SKIP() << opened.reason;
  EXPECT_GE(opened.library->version, 21800);
  EXPECT_EQ(opened.library->describe(nccl::ncclInvalidUsage, nullptr).substr(0, 13),
            "invalid usage");
}

}  // namespace
}  // namespace sinter::nccl_abi_test
