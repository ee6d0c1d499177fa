// What the recording functions share: finding the graph, broadcasting, and messages with places.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/node.h"
#include "ir/ops/op.h"
#include "ir/support/adt.h"
#include "sinter/error.h"
#include "sinter/ops.h"

namespace sinter {

using ShapeVector = llvm::SmallVector<Extent, 6>;
using AxesVector = llvm::SmallVector<std::int64_t, 6>;

/// Throws UserError: `op: message (recorded at model.cpp:42)`.
[[noreturn]] void fail(std::string_view op, std::string_view message, Location location);

/// Operands where they stand: to copy them takes as long as to record.
using OperandRefs = std::span<const Operand* const>;
llvm::SmallVector<const Operand*, 4> refs_to(std::span<const Operand> operands);

/// `tensors` as operands of a call at `location`.
std::vector<Operand> operands_of(std::span<const Tensor> tensors, Location location);

/// The graph that all tensors among `operands` belong to.
GraphData& graph_of(std::string_view op, OperandRefs operands);

/// The one graph of `x`, which must be a Tensor.
GraphData& graph_of(std::string_view op, const Operand& x);

/// `axis` counted from the front; throws unless -rank <= axis < rank.
std::int64_t checked_axis(std::string_view op, std::int64_t axis, const Node& x, Location location);

/// `it must be in [-3, 3)`: the places along an axis of `extent`.
std::string places_text(Extent extent);

/// Numpy broadcasting of the operands' shapes; throws the user's error where they do not fit.
ShapeVector broadcast_shapes(std::string_view op, std::span<const Node* const> operands,
                             Location location);

/// The node of a number in `dtype` (i.e. rounded to it); throws where it has no value there.
const Node* constant(GraphData& graph, std::string_view op, const Literal& literal, DType dtype,
                     Location location);

/// Any elementwise op; what UNARY, BINARY and TERNARY rows of the table expand to.
Tensor record_elementwise(Op op, OperandRefs operands);
inline Tensor record_elementwise(Op op, std::span<const Operand> operands) {
  return record_elementwise(op, refs_to(operands));
}

/// What a reduction may be told beyond its axes.
struct ReductionOptions {
  Keep keep = Keep::no;
  std::optional<int> correction = {};  ///< of var
  /// The nesting of the axes, outermost first, where it is not to follow from the operand's
  /// strides.
  std::optional<std::span<const std::int64_t>> order = {};
};

/// Any reduction; what sum, max, … expand to.
Tensor record_reduction(Op op, const Operand& x, std::span<const std::int64_t> axes,
                        const ReductionOptions& options);

/// Any scan; what cumsum, cumprod, … expand to.
Tensor record_scan(Op op, const Operand& x, std::int64_t axis, ScanOptions options);

/// `x`'s shape without `axes`, or with extent 1 there.
ShapeVector reduced_shape(const Node& x, std::span<const std::int64_t> axes, Keep keep);

/// x's shape and dtype, nothing but zeros.
Tensor zeros_like(Tensor x);

/// How many elements a slice takes.
Extent slice_length(Extent begin, Extent end, std::int64_t step);

/// Places of a slice, counted from the front and cut off at the ends.
struct SliceBounds {
  Extent begin;
  Extent end;
};
SliceBounds slice_bounds(Extent extent, Extent begin, Extent end);

/// True for what scatter adds up without losing more than a rounding each time.
inline bool can_accumulate(DType dtype) { return dtype != boolean && !is_narrow(dtype); }

/// x's shape with the windows of `axis`, and their elements as a last axis.
ShapeVector unfolded_shape(const Node& x, std::size_t axis, std::int64_t size, std::int64_t step);

/// One more than the last element that an as_strided reads; 0 where it reads none.
Extent strided_end(std::span<const Extent> shape, std::span<const Extent> strides, Extent offset);

/// Throws the user's error where `shape` has a rank or size that no array has.
void check_shape(std::string_view op, std::span<const Extent> shape, Location location);

/// `extent` as a number of rank 0.
Tensor record_size(GraphData& graph, Extent extent, DType dtype, Location location);

/// True if an array of `shape` has more than 2^60 elements for certain.
bool is_too_large(std::span<const Extent> shape);
/// Throws UserError where it has.
void check_size(std::string_view op, std::span<const Extent> shape, Location location);

/// True for a number that the user wrote as an operand: it may have the compute type of a half.
inline bool is_constant(const Node& node) { return node.op == Op::constant; }

}  // namespace sinter
