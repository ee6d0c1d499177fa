// Opaque calls: work of the user's own, such as a library's matrix product, on our stream between
// fused regions.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/graph.h"

namespace sinter {

/// What one result of a call is.
struct OpaqueType {
  DType dtype = f32;
  std::vector<Extent> shape = {};
};

/// A number or a text that a call hands to its function.
struct OpaqueAttribute {
  OpaqueAttribute(std::string_view name, Literal number) : name(name), number(number) {}
  template <Arithmetic Number>
  OpaqueAttribute(std::string_view name, Number number)
      : OpaqueAttribute(name, Literal::of(number)) {}
  OpaqueAttribute(std::string_view name, std::string_view text)
      : name(name), text(text), is_text(true) {}

  std::string name;
  Literal number = {};
  std::string text;
  bool is_text = false;
};

/// What `function`, which is registered by that name (see register_opaque), makes of `operands`:
///   opaque("gemm", {x, w}, {.dtype = bf16, .shape = {rows, 1024}}, {{"alpha", 0.5}})
/// The call is a launch of its own. It finds each operand whole and row-major in device memory, and
/// writes its results so; a run-time scalar is handed over as a number. Nothing is fused into it or
/// folded. Functions are taken to be pure: equal calls are one call, and one whose results nobody
/// needs is not made. Throws UserError for numbers among the operands, and for names that the text
/// form cannot write.
Tensor opaque(std::string_view function, std::initializer_list<Operand> operands,
              const OpaqueType& result, const std::vector<OpaqueAttribute>& attributes = {},
              const char* file = __builtin_FILE(), int line = __builtin_LINE());

/// The same for a function with several results.
std::vector<Tensor> opaque_results(std::string_view function, std::span<const Operand> operands,
                                   std::span<const OpaqueType> results,
                                   const std::vector<OpaqueAttribute>& attributes = {},
                                   const char* file = __builtin_FILE(),
                                   int line = __builtin_LINE());
std::vector<Tensor> opaque_results(std::string_view function,
                                   std::initializer_list<Operand> operands,
                                   std::initializer_list<OpaqueType> results,
                                   const std::vector<OpaqueAttribute>& attributes = {},
                                   const char* file = __builtin_FILE(),
                                   int line = __builtin_LINE());

/// An operand or result of one call: row-major, without gaps.
struct OpaqueArray {
  DType dtype = f32;
  std::span<const std::int64_t> shape;
  void* data = nullptr;    ///< device memory, at least as aligned as the dtype; null for a number
  bool is_number = false;  ///< a run-time scalar
  Literal number = {};     ///< its value in this run

  std::int64_t elements() const;
  std::int64_t bytes() const { return elements() * size_of(dtype); }
};

/// What is known of a call before its memory is: arrays have no `data` here.
struct OpaqueSizes {
  std::string_view function;
  std::span<const OpaqueArray> inputs;   ///< in the order of the operands
  std::span<const OpaqueArray> outputs;  ///< all of them, also those that nobody needs
  std::span<const OpaqueAttribute> attributes;

  /// The attribute `name`. Throws UserError where the call has none, or one of the other kind.
  double number(std::string_view name) const;
  std::string_view text(std::string_view name) const;
  /// The same, or `otherwise` where the call has none.
  double number(std::string_view name, double otherwise) const;
  std::string_view text(std::string_view name, std::string_view otherwise) const;
};

/// One call, to be put on a stream.
struct OpaqueCall : OpaqueSizes {
  void* stream = nullptr;       ///< the CUstream; while a CUDA Graph is made, one that records
  bool is_host_device = false;  ///< `data` is memory of the CPU, and there is no CUDA
  int device = 0;               ///< its number among devices of its kind
  void* workspace = nullptr;    ///< device memory of this call alone, aligned to 256 bytes
  std::int64_t workspace_bytes = 0;

  /// Lets the CPU carry out `work` when the stream gets there, in a CUDA Graph each time that runs.
  /// It must call neither CUDA nor sinter; what it throws is told by a later call of the Context.
  void on_host(std::function<void()> work) const;

  std::function<void(std::function<void()>)> add_host_work;  ///< what on_host calls
};

/// A value as the oracle knows it, row-major; of floating dtypes `reals`, of others `integers`.
struct OpaqueValue {
  DType dtype = f32;
  std::span<const std::int64_t> shape;
  std::span<const double> reals;
  std::span<const std::int64_t> integers;
  std::span<const double> bounds;  ///< how far a device's may be off, infinite if it is undecided
};

/// What the oracle asks a function for.
struct OpaqueExpected {
  DType dtype = f32;
  std::span<const std::int64_t> shape;
  std::span<double> reals;  ///< they are rounded to the dtype afterwards
  std::span<std::int64_t> integers;
  /// How far a device's may be from them, rounding to the dtype apart: to be filled in, from the
  /// operands' too. Infinite to begin with where an operand may be off, else 0.
  std::span<double> bounds;
};

/// A call for the oracle. Scalars are values of rank 0.
struct OpaqueReference {
  std::span<const OpaqueValue> inputs;
  std::span<const OpaqueExpected> outputs;
  OpaqueSizes sizes;  ///< for attributes
};

/// What is known of a function by its name.
struct OpaqueFunction {
  /// Puts the work of one call on its stream. Any number but 0, and whatever it throws, ends the
  /// run with an error that names the call. Several threads may be in it at once. Its calls in one
  /// run follow one another on the device; those of other contexts do not wait for them.
  std::function<int(const OpaqueCall& call)> enqueue;
  /// Bytes of device memory that a call of these sizes works in; without it, none.
  std::function<std::int64_t(const OpaqueSizes& sizes)> workspace = {};
  /// The results for exact operands; without it, checks leave what comes of a call undecided.
  std::function<void(const OpaqueReference& call)> reference = {};
  /// False for functions that wait for the stream, or do part of their work elsewhere than on it:
  /// then a replay is two CUDA Graphs with the call between them.
  bool can_capture = true;
  /// Throws where a call of these operands, results and attributes is none that it can make;
  /// without it, all are made. Asked when kernels are made for sizes, and when they are loaded.
  std::function<void(const OpaqueSizes& sizes)> check = {};
  /// Of what it computes. Programs that were saved are loaded where it is what it was then.
  std::int64_t version = 0;
};

/// Makes `function` known to the whole process: graphs that call it may be compiled from now on.
/// Throws UserError where the name is taken, or none that the text form can write.
void register_opaque(std::string_view name, OpaqueFunction function);
/// Forgets it, but what was compiled keeps it; false if there is none of that name.
bool unregister_opaque(std::string_view name);

}  // namespace sinter
