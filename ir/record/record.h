// Helpers of the recording functions: the graph of operands, checks, broadcasting and errors.
#pragma once

#include <initializer_list>
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

/// Pointers to operands, because copies of operands would take as long as recording.
using OperandRefs = std::span<const Operand* const>;
llvm::SmallVector<const Operand*, 4> refs_to(std::span<const Operand> operands);

/// `tensors` as operands of a call at `location`.
std::vector<Operand> operands_of(std::span<const Tensor> tensors, Location location);

/// The graph of all Tensors among `operands`. Throws UserError if there is no Tensor, or if they
/// belong to different graphs.
GraphData& graph_of(std::string_view op, OperandRefs operands);

/// The graph or the node of `x`. Throws UserError if it is a number.
GraphData& graph_of(std::string_view op, const Operand& x);
const Node& node_of(std::string_view op, const Operand& x);

/// `axis` counted from the front. Throws UserError unless -rank <= axis < rank.
std::int64_t checked_axis(std::string_view op, std::int64_t axis, const Node& x, Location location);
/// `axes` counted from the front, in the same order. Throws UserError if one is out of range or
/// repeated.
AxesVector checked_axes(std::string_view op, std::span<const std::int64_t> axes, const Node& x,
                        Location location);

/// The same in ascending order; all axes of x if `axes` is empty.
AxesVector axes_to_reduce(std::string_view op, const Node& x, std::span<const std::int64_t> axes,
                          Location location);

/// `index` along `axis` of x, counted from the front. Throws UserError if it is provably out of
/// range.
Extent checked_index(std::string_view op, Extent index, std::size_t axis, const Node& x,
                     Location location);

/// Throws UserError if `indices` is a number, or its dtype no integer dtype.
void check_integers(std::string_view op, const Operand& indices);

/// The shape to which the operands broadcast as in NumPy. Throws UserError if they do not
/// broadcast.
ShapeVector broadcast_shapes(std::string_view op, std::span<const Node* const> operands,
                             Location location);

/// The common dtype of `operands`. A number takes the dtype of the Tensors, with two exceptions. A
/// real number with integers or bool gives f32, and an integer with bool gives i64. Throws
/// UserError if there is none.
DType common_dtype(std::string_view op, OperandRefs operands);

/// The constant of a number in `dtype`. f32 and c64 round it to f32; the narrower floating dtypes
/// keep it unrounded. Throws UserError if an integer dtype or bool does not have the value.
const Node* constant(GraphData& graph, std::string_view op, const Literal& literal, DType dtype,
                     Location location);

/// `operand` as a Tensor of `dtype`: the constant of a number, or a cast.
Tensor as_tensor(std::string_view op, GraphData& graph, const Operand& operand, DType dtype);

/// Records a node, and returns its Tensor. The caller checks the contents.
inline Tensor record_node(GraphData& graph, Op op, DType dtype,
                          std::span<const Node* const> operands, std::span<const Extent> shape,
                          std::span<const Attribute> attributes, Location location) {
  const NodeDraft draft{
      .op = op, .dtype = dtype, .operands = operands, .shape = shape, .attributes = attributes};
  return tensor(graph, graph.make(draft, location));
}

/// Records a node whose only operand is `x`, a Tensor.
Tensor record_unary(Op op, const Operand& x, DType dtype, std::span<const Extent> shape,
                    std::initializer_list<Attribute> attributes);

/// Records any elementwise op. The UNARY, BINARY and TERNARY rows of the table call it.
Tensor record_elementwise(Op op, OperandRefs operands);
inline Tensor record_elementwise(Op op, std::span<const Operand> operands) {
  return record_elementwise(op, refs_to(operands));
}

/// Optional parameters of a reduction.
struct ReductionOptions {
  Keep keep = Keep::no;
  std::optional<int> correction = {};  ///< for var
  /// The nesting of the axes, outermost first. By default, it follows from the operand's strides.
  std::optional<std::span<const std::int64_t>> order = {};
};

/// Records any reduction. sum, max, … call it.
Tensor record_reduction(Op op, const Operand& x, std::span<const std::int64_t> axes,
                        const ReductionOptions& options);

/// Records any scan. cumsum, cumprod, … call it.
Tensor record_scan(Op op, const Operand& x, std::int64_t axis, ScanOptions options);

/// The shape of `x` without `axes`, or with extent 1 for them.
ShapeVector reduced_shape(const Node& x, std::span<const std::int64_t> axes, Keep keep);

/// Zeros in the shape and dtype of x.
Tensor zeros_like(Tensor x);

/// The number of elements of a slice.
Extent slice_length(Extent begin, Extent end, std::int64_t step);

/// The bounds of a slice, counted from the front and clamped to the ends.
struct SliceBounds {
  Extent begin;
  Extent end;
};
SliceBounds slice_bounds(Extent extent, Extent begin, Extent end);

/// True for the dtypes in which scatter accumulates: all except bool and narrow floats.
inline bool can_accumulate(DType dtype) { return dtype != boolean && !is_narrow(dtype); }

/// The shape of x with the windows along `axis`, and the elements of a window as the last axis.
ShapeVector unfolded_shape(const Node& x, std::size_t axis, std::int64_t size, std::int64_t step);

/// Throws UserError if `shape` has too many axes or elements, or a negative extent.
void check_shape(std::string_view op, std::span<const Extent> shape, Location location);

/// `extent` as a value of rank 0.
Tensor record_size(GraphData& graph, Extent extent, DType dtype, Location location);

/// True if an array of `shape` certainly has more than 2^60 elements.
bool is_too_large(std::span<const Extent> shape);
/// Throws UserError if `is_too_large`.
void check_size(std::string_view op, std::span<const Extent> shape, Location location);

/// True for a number that the user wrote as an operand. It has the compute dtype of its op.
inline bool is_constant(const Node& node) { return node.op == Op::constant; }

}  // namespace sinter
