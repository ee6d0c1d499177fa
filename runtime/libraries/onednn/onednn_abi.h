// The part of oneDNN that sinter uses, with its names and values (oneapi/dnnl/dnnl.h of versions 2
// and 3). tests/unit/runtime/libraries/onednn/onednn_abi_test.cpp compares it with the real header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sinter::dnnl {

using dnnl_engine_t = struct dnnl_engine*;
using dnnl_stream_t = struct dnnl_stream*;
using dnnl_memory_t = struct dnnl_memory*;
using dnnl_primitive_t = struct dnnl_primitive*;
using dnnl_primitive_desc_t = struct dnnl_primitive_desc*;
using dnnl_primitive_attr_t = struct dnnl_primitive_attr*;
/// A layout: the address of a structure in version 2, a handle in version 3.
using dnnl_any_memory_desc_t = const void*;

enum dnnl_status_t : int { dnnl_success = 0, dnnl_unimplemented = 3 };
enum dnnl_data_type_t : int { dnnl_f32 = 3 };
enum dnnl_format_tag_t : int { dnnl_format_tag_any = 1 };
enum dnnl_engine_kind_t : int { dnnl_cpu = 1 };
enum dnnl_alg_kind_t : int { dnnl_convolution_direct = 1 };
enum dnnl_scratchpad_mode_t : int { dnnl_scratchpad_mode_user = 1 };
enum dnnl_fpmath_mode_t : int { dnnl_fpmath_mode_strict = 0 };
constexpr unsigned dnnl_stream_default_flags = 1;

enum dnnl_prop_kind_t : int { dnnl_forward_training = 64 };

enum dnnl_query_t : int {
  dnnl_query_impl_info_str = 8,
  dnnl_query_src_md = 129,
  dnnl_query_diff_src_md = 130,
  dnnl_query_weights_md = 131,
  dnnl_query_diff_weights_md = 132,
  dnnl_query_dst_md = 133,
  dnnl_query_diff_dst_md = 134,
  dnnl_query_scratchpad_md = 136,
};

/// Numbers of arguments.
constexpr int DNNL_ARG_SRC = 1, DNNL_ARG_DST = 17, DNNL_ARG_WEIGHTS = 33, DNNL_ARG_SCRATCHPAD = 80,
              DNNL_ARG_DIFF_SRC = 129, DNNL_ARG_DIFF_DST = 145, DNNL_ARG_DIFF_WEIGHTS = 161;

/// Libraries with other CPU runtimes share threads that sinter cannot limit.
constexpr unsigned DNNL_RUNTIME_SEQ = 1, DNNL_RUNTIME_OMP = 2;

struct dnnl_version_t {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};

struct dnnl_exec_arg_t {
  int arg;
  dnnl_memory_t memory;
};

/// Structures of version 2, which only the library reads. They are at least as large as its own.
struct dnnl_memory_desc_storage {
  alignas(8) std::byte bytes[1024];
};
struct dnnl_convolution_desc_storage {
  alignas(8) std::byte bytes[8192];
};

}  // namespace sinter::dnnl
