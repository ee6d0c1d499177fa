// Compares runtime/libraries/cuda/cublaslt_abi.h and the signatures with cuBLASLt's real header,
// where present.
#include "runtime/libraries/cuda/cublaslt.h"

#include <cstddef>

#include "tests/unit/runtime/libraries/cuda/same_signature.h"

#include <gtest/gtest.h>

#if __has_include(<cublasLt.h>) && __has_include(<cuda_runtime_api.h>)
#define HAS_CUBLASLT_HEADER 1
#include <cublasLt.h>
#endif

namespace sinter::cublaslt_abi_test {
namespace {

#ifndef HAS_CUBLASLT_HEADER

TEST(CublasltAbi, EqualsTheRealHeader) { GTEST_SKIP() << "cublasLt.h is not on the include path"; }

#else

#define SAME_CUBLASLT_VALUE(NAME) \
  static_assert(static_cast<int>(sinter::cublaslt::NAME) == static_cast<int>(::NAME))

SAME_CUBLASLT_VALUE(CUBLAS_STATUS_SUCCESS);
SAME_CUBLASLT_VALUE(CUBLAS_STATUS_INVALID_VALUE);
SAME_CUBLASLT_VALUE(CUBLAS_STATUS_ARCH_MISMATCH);
SAME_CUBLASLT_VALUE(CUBLAS_STATUS_NOT_SUPPORTED);
SAME_CUBLASLT_VALUE(CUDA_R_32F);
SAME_CUBLASLT_VALUE(CUDA_R_64F);
SAME_CUBLASLT_VALUE(CUDA_R_16F);
SAME_CUBLASLT_VALUE(CUDA_R_8I);
SAME_CUBLASLT_VALUE(CUDA_R_32I);
SAME_CUBLASLT_VALUE(CUDA_R_16BF);
SAME_CUBLASLT_VALUE(CUDA_R_8F_E4M3);
SAME_CUBLASLT_VALUE(CUDA_R_8F_E5M2);
SAME_CUBLASLT_VALUE(CUBLAS_COMPUTE_32F);
SAME_CUBLASLT_VALUE(CUBLAS_COMPUTE_64F);
SAME_CUBLASLT_VALUE(CUBLAS_COMPUTE_32I);
SAME_CUBLASLT_VALUE(CUBLAS_COMPUTE_32F_FAST_TF32);
SAME_CUBLASLT_VALUE(CUBLAS_OP_N);
SAME_CUBLASLT_VALUE(CUBLAS_OP_T);
SAME_CUBLASLT_VALUE(CUBLASLT_MATMUL_DESC_TRANSA);
SAME_CUBLASLT_VALUE(CUBLASLT_MATMUL_DESC_TRANSB);
SAME_CUBLASLT_VALUE(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME_CUBLASLT_VALUE(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME_CUBLASLT_VALUE(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME_CUBLASLT_VALUE(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME_CUBLASLT_VALUE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME_CUBLASLT_VALUE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME_CUBLASLT_VALUE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME_CUBLASLT_VALUE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME_CUBLASLT_VALUE(CUBLASLT_REDUCTION_SCHEME_NONE);
SAME_CUBLASLT_VALUE(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);

static_assert(sizeof(sinter::cublaslt::cublasLtMatmulAlgo_t) == sizeof(::cublasLtMatmulAlgo_t));
using OurResult = sinter::cublaslt::cublasLtMatmulHeuristicResult_t;
using RealResult = ::cublasLtMatmulHeuristicResult_t;
static_assert(sizeof(OurResult) == sizeof(RealResult) && alignof(OurResult) == alignof(RealResult));
static_assert(offsetof(OurResult, algo) == offsetof(RealResult, algo));
static_assert(offsetof(OurResult, workspaceSize) == offsetof(RealResult, workspaceSize));
static_assert(offsetof(OurResult, state) == offsetof(RealResult, state));
static_assert(offsetof(OurResult, wavesCount) == offsetof(RealResult, wavesCount));

// Signatures: results and parameters of the same size and kind (pointer or number).
#define SYMBOL(RESULT, NAME, PARAMETERS) \
  static_assert(test::kSameSignature<decltype(sinter::cublaslt::Table::NAME), decltype(&::NAME)>);
#include "runtime/libraries/cuda/cublaslt_symbols.def"

#undef SAME_CUBLASLT_VALUE

TEST(CublasltAbi, EqualsTheRealHeader) {
  // The static assertions above check everything at compile time.
  SUCCEED();
}

#endif

}  // namespace
}  // namespace sinter::cublaslt_abi_test
