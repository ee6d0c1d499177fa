// Library ops: matrix products and convolutions, which a library computes between fused kernels.
//
// A library op is recorded, printed, differentiated and checked like every op. At run time it is a
// call of cuBLASLt or cuDNN on a GPU, and of OpenBLAS or oneDNN on the host device. Nothing is
// fused into it; its operands and results are whole arrays in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sinter/graph.h"

namespace sinter {

struct MatmulOptions {
  bool transpose_a = false;  ///< a is [..., k, m]
  bool transpose_b = false;  ///< b is [..., n, k]
  /// The dtype of the result. By default that of the operands, i32 for i8, and bf16 for f8.
  std::optional<DType> result = std::nullopt;
  bool allow_tf32 = false;  ///< the library may round f32 operands to tf32: 10 fraction bits
};

/// The matrix product of a [..., m, k] and b [..., k, n], with shape [..., m, n]. The leading axes
/// broadcast as in NumPy. A vector a is [1, k] and a vector b is [k, 1]; the result lacks that
/// axis.
///
/// Both operands are f16, bf16, f32, f64 or i8, or each is of an f8 dtype. Sums accumulate in f32,
/// in f64 for f64, and in i32 for i8. Of sums of f8, tensor cores of sm_89 and sm_90 keep 13
/// fraction bits. The library chooses the order of sums, which is the same in every run. Results of
/// f16 and bf16 operands may be f32; those of f8 may be f16, bf16 or f32.
///
/// Throws UserError if the shapes do not fit, or for other dtypes.
Tensor matmul(const Operand& a, const Operand& b, const MatmulOptions& options = {});

struct ConvOptions {
  std::vector<std::int64_t> strides = {};        ///< per spatial axis, at least 1; empty: all 1
  std::vector<std::int64_t> dilations = {};      ///< per spatial axis, at least 1; empty: all 1
  std::vector<std::int64_t> padding_begin = {};  ///< zeros in front per spatial axis; empty: none
  std::vector<std::int64_t> padding_end = {};    ///< zeros behind; empty: as padding_begin
  std::int64_t groups = 1;  ///< channels and filters are in that many independent groups
  bool allow_tf32 = false;  ///< as in MatmulOptions
};

/// The cross-correlation of x [n, c, spatial...] with filters w [k, c / groups, spatial...], for
/// one to three spatial axes. The result is [n, k, spatial...]. Each of its spatial extents is
/// (x + padding_begin + padding_end - dilation * (w - 1) - 1) / stride + 1, rounded down.
///
/// Both operands are f16, bf16, f32 or f64, and so is the result. The library accumulates as in
/// `matmul`. Throws UserError if shapes or options do not fit, or for other dtypes.
Tensor conv(const Operand& x, const Operand& w, const ConvOptions& options = {});

struct ConvTransposeOptions : ConvOptions {
  std::vector<std::int64_t> output_padding = {};  ///< added to each spatial extent; empty: none
};

/// The transposed convolution of x [n, k, spatial...] with filters w [k, c / groups, spatial...]:
/// the vjp of `conv` with respect to its x. The result is [n, c, spatial...]. Each spatial extent
/// is (x - 1) * stride - padding_begin - padding_end + dilation * (w - 1) + 1 + output_padding.
Tensor conv_transpose(const Operand& x, const Operand& w, const ConvTransposeOptions& options = {});

/// The cotangent of x in `conv(x, w, options)`, where x has `shape` and `g` is the cotangent of the
/// result.
Tensor conv_data_gradient(const Operand& g, const Operand& w, Extents shape,
                          const ConvOptions& options = {});
/// The cotangent of w in `conv(x, w, options)`, where w has `shape` and `g` is the cotangent of the
/// result.
Tensor conv_weight_gradient(const Operand& x, const Operand& g, Extents shape,
                            const ConvOptions& options = {});

struct IntegerMatmulOptions {
  bool transpose_a = false;  ///< as in MatmulOptions
  bool transpose_b = false;
  /// Integers that broadcast to the operand and are equal along its axis k. Empty: 0.
  Tensor zero_a = {};
  Tensor zero_b = {};
};

/// The matrix product of (a - zero_a) and (b - zero_b) in i32, for operands of rank 2 or more in i8
/// or u8. It is composed of a product in i8 and of corrections by sums of the operands. It is exact
/// unless a result leaves i32. Throws UserError if the shapes do not fit, or for other dtypes.
Tensor integer_matmul(const Operand& a, const Operand& b, const IntegerMatmulOptions& options = {});

struct IntegerConvOptions : ConvOptions {
  Tensor zero_x = {};  ///< one integer, in the range of x if there is padding; empty: 0
  Tensor zero_w = {};  ///< one integer, or one per filter [k]; empty: 0
};

/// `conv` of (x - zero_x) and (w - zero_w) in i32, for operands in i8 or u8. The padding counts as
/// 0. It is composed of a copy of all windows of x, and of a matrix product. The copy has one i8
/// element for each position of the result and each element of a filter. Throws UserError as `conv`
/// does.
Tensor integer_conv(const Operand& x, const Operand& w, const IntegerConvOptions& options = {});

struct AttentionOptions {
  bool is_causal = false;  ///< position i of q sees the positions up to i of k
  std::optional<double> scale = std::nullopt;  ///< of the products; by default 1 / sqrt(d)
  bool allow_tf32 = false;                     ///< as in MatmulOptions
};

/// Scaled dot product attention: softmax(scale * q kT + mask) v, for q [..., s, d], k [..., t, d]
/// and v [..., t, e], with shape [..., s, e]. The leading axes broadcast. If q has more heads
/// (axis -3) than k and v, consecutive heads of q share one head of theirs. `mask` broadcasts to
/// [..., s, t]. A bool mask is true for the positions that are seen; another mask is added. The
/// result of a row that sees no position is NaN.
///
/// It is composed of two matrix products and a fused softmax in f32, or in f64 for f64.
Tensor attention(const Operand& q, const Operand& k, const Operand& v,
                 const AttentionOptions& options = {});
Tensor attention(const Operand& q, const Operand& k, const Operand& v, const Operand& mask,
                 const AttentionOptions& options = {});

}  // namespace sinter
