// Compares runtime/libraries/onednn/onednn_abi.h and the signatures with oneDNN's real header,
// where present: those of its version and those of both.
#include "runtime/libraries/onednn/onednn.h"

#include <cstddef>

#include "tests/unit/runtime/libraries/cuda/same_signature.h"

#include <gtest/gtest.h>

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#if DNNL_VERSION_MAJOR == 2 || DNNL_VERSION_MAJOR == 3
#define HAS_ONEDNN_HEADER 1
#endif
#endif

namespace sinter::onednn_abi_test {
namespace {

#ifndef HAS_ONEDNN_HEADER

TEST(OneDnnAbi, EqualsTheRealHeader) {
  GTEST_SKIP() << "oneapi/dnnl/dnnl.h of version 2 or 3 is not on the include path";
}

#else

#define SAME_ONEDNN_VALUE(NAME) \
  static_assert(static_cast<int>(sinter::dnnl::NAME) == static_cast<int>(::NAME))

SAME_ONEDNN_VALUE(dnnl_success);
SAME_ONEDNN_VALUE(dnnl_unimplemented);
SAME_ONEDNN_VALUE(dnnl_f32);
SAME_ONEDNN_VALUE(dnnl_format_tag_any);
SAME_ONEDNN_VALUE(dnnl_cpu);
SAME_ONEDNN_VALUE(dnnl_convolution_direct);
SAME_ONEDNN_VALUE(dnnl_scratchpad_mode_user);
SAME_ONEDNN_VALUE(dnnl_fpmath_mode_strict);
SAME_ONEDNN_VALUE(dnnl_stream_default_flags);
SAME_ONEDNN_VALUE(dnnl_forward_training);
SAME_ONEDNN_VALUE(dnnl_query_impl_info_str);
SAME_ONEDNN_VALUE(dnnl_query_src_md);
SAME_ONEDNN_VALUE(dnnl_query_diff_src_md);
SAME_ONEDNN_VALUE(dnnl_query_weights_md);
SAME_ONEDNN_VALUE(dnnl_query_diff_weights_md);
SAME_ONEDNN_VALUE(dnnl_query_dst_md);
SAME_ONEDNN_VALUE(dnnl_query_diff_dst_md);
SAME_ONEDNN_VALUE(dnnl_query_scratchpad_md);

/// The header defines these as macros.
constexpr int kArguments[] = {DNNL_ARG_SRC,       DNNL_ARG_DST,      DNNL_ARG_WEIGHTS,
                              DNNL_ARG_DIFF_SRC,  DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS,
                              DNNL_ARG_SCRATCHPAD};
constexpr unsigned kRuntimes[] = {DNNL_RUNTIME_SEQ, DNNL_RUNTIME_OMP};
#undef DNNL_ARG_SRC
#undef DNNL_ARG_DST
#undef DNNL_ARG_WEIGHTS
#undef DNNL_ARG_DIFF_SRC
#undef DNNL_ARG_DIFF_DST
#undef DNNL_ARG_DIFF_WEIGHTS
#undef DNNL_ARG_SCRATCHPAD
#undef DNNL_RUNTIME_SEQ
#undef DNNL_RUNTIME_OMP
static_assert(kArguments[0] == sinter::dnnl::DNNL_ARG_SRC);
static_assert(kArguments[1] == sinter::dnnl::DNNL_ARG_DST);
static_assert(kArguments[2] == sinter::dnnl::DNNL_ARG_WEIGHTS);
static_assert(kArguments[3] == sinter::dnnl::DNNL_ARG_DIFF_SRC);
static_assert(kArguments[4] == sinter::dnnl::DNNL_ARG_DIFF_DST);
static_assert(kArguments[5] == sinter::dnnl::DNNL_ARG_DIFF_WEIGHTS);
static_assert(kArguments[6] == sinter::dnnl::DNNL_ARG_SCRATCHPAD);
static_assert(kRuntimes[0] == sinter::dnnl::DNNL_RUNTIME_SEQ);
static_assert(kRuntimes[1] == sinter::dnnl::DNNL_RUNTIME_OMP);

using OurVersion = sinter::dnnl::dnnl_version_t;
static_assert(sizeof(OurVersion) == sizeof(::dnnl_version_t));
static_assert(offsetof(OurVersion, hash) == offsetof(::dnnl_version_t, hash));
static_assert(offsetof(OurVersion, cpu_runtime) == offsetof(::dnnl_version_t, cpu_runtime));
using OurArgument = sinter::dnnl::dnnl_exec_arg_t;
static_assert(sizeof(OurArgument) == sizeof(::dnnl_exec_arg_t));
static_assert(offsetof(OurArgument, memory) == offsetof(::dnnl_exec_arg_t, memory));

#if DNNL_VERSION_MAJOR == 2
static_assert(sizeof(sinter::dnnl::dnnl_memory_desc_storage) >= sizeof(::dnnl_memory_desc_t));
static_assert(alignof(sinter::dnnl::dnnl_memory_desc_storage) >= alignof(::dnnl_memory_desc_t));
static_assert(sizeof(sinter::dnnl::dnnl_convolution_desc_storage) >=
              sizeof(::dnnl_convolution_desc_t));
static_assert(alignof(sinter::dnnl::dnnl_convolution_desc_storage) >=
              alignof(::dnnl_convolution_desc_t));
#endif

// Signatures: results and parameters of the same size and kind (pointer or number).
#define SYMBOL(RESULT, NAME, PARAMETERS) \
  static_assert(test::kSameSignature<decltype(sinter::dnnl::Table::NAME), decltype(&::NAME)>);
#if DNNL_VERSION_MAJOR == 2
#define SYMBOL2 SYMBOL
#define SYMBOL3(RESULT, NAME, PARAMETERS)
#else
#define SYMBOL2(RESULT, NAME, PARAMETERS)
#define SYMBOL3 SYMBOL
#endif
#include "runtime/libraries/onednn/onednn_symbols.def"

#undef SAME_ONEDNN_VALUE

TEST(OneDnnAbi, EqualsTheRealHeader) {
  // The static assertions above check everything at compile time.
  SUCCEED();
}

#endif

}  // namespace
}  // namespace sinter::onednn_abi_test
