// Calls the function of a library op directly, without a graph, and computes its results in
// doubles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/libraries/problem/conv_problem.h"
#include "sinter/opaque.h"
#include "sinter/sinter.h"

namespace sinter::test {

/// An array of a call.
struct CallArray {
  DType dtype = f32;
  std::vector<std::int64_t> shape;
  std::vector<double> values = {};

  std::int64_t elements() const;
};

/// Numbers of which every dtype holds all sums in these tests: halves from -2 to 2, or integers
/// from -4 to 4 for i8.
CallArray small_numbers(DType dtype, std::vector<std::int64_t> shape, std::uint64_t seed = 1);
/// Numbers between -1 and 1, rounded to the dtype.
CallArray random_numbers(DType dtype, std::vector<std::int64_t> shape, std::uint64_t seed = 1);

/// The operands, the type of the result, and the attributes of a call.
struct LibraryCall {
  std::vector<CallArray> inputs;
  CallArray result;
  std::vector<OpaqueAttribute> attributes = {};
};

struct MatmulSettings {
  bool transpose_a = false, transpose_b = false, allow_tf32 = false;
};
/// A product with the shape of its result.
LibraryCall matmul_call(CallArray a, CallArray b, DType result,
                        const MatmulSettings& settings = {});

struct ConvSettings {
  std::vector<std::int64_t> strides, dilations, padding_begin, padding_end;  ///< empty: defaults
  std::int64_t groups = 1;
  bool allow_tf32 = false;
  bool is_exact = true;  ///< small numbers
};
/// A convolution or gradient of an image x and filters w with these shapes.
LibraryCall conv_call(ConvKind kind, DType dtype, const std::vector<std::int64_t>& x,
                      const std::vector<std::int64_t>& w, const ConvSettings& settings = {});

struct CallOptions {
  bool as_graph = false;    ///< GPUs only: the call is captured, and its CUDA Graph is launched
  std::int64_t offset = 0;  ///< elements in front of each array, so that it is less aligned
};
/// Checks the call and runs it on `device`. Returns the bytes of the result.
std::vector<std::byte> run_call(const OpaqueFunction& function, const LibraryCall& call,
                                const Device& device, const CallOptions& options = {});
/// The message of the exception with which `check` refuses the call; empty if it accepts it.
std::string refusal_of(const OpaqueFunction& function, const LibraryCall& call,
                       const Device& device);
std::vector<double> values_of(DType dtype, const std::vector<std::byte>& bytes);

/// An exact sum of products, and the sum of their magnitudes.
struct ExpectedSum {
  long double value = 0, magnitude = 0;
};
std::vector<ExpectedSum> expected_product(const LibraryCall& call);
std::vector<ExpectedSum> expected_conv(ConvKind kind, const LibraryCall& call);

/// The first element that is not its sum, rounded once, as text; empty if there is none. For sums
/// of small numbers, which are exact in every order, and for integers.
std::string exact_difference(const LibraryCall& call, const std::vector<std::byte>& bytes,
                             const std::vector<ExpectedSum>& expected);
/// The first element with a larger error than f32 or f64 additions and one rounding have, as text.
/// Empty if there is none. `operand_error` is the relative error of each product.
std::string difference(const LibraryCall& call, const std::vector<std::byte>& bytes,
                       const std::vector<ExpectedSum>& expected, double operand_error = 0);

}  // namespace sinter::test
