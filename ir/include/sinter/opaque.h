// Opaque calls: user functions, such as a library's matrix product, that put work on sinter's
// stream between fused kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sinter/graph.h"

namespace sinter {

/// The type of one result of a call.
struct OpaqueType {
  DType dtype = f32;
  std::vector<Extent> shape = {};
};

/// A named number, text or list of integers that a call passes to its function.
struct OpaqueAttribute {
  OpaqueAttribute(std::string_view name, Literal number) : name(name), number(number) {}
  template <Arithmetic Number>
  OpaqueAttribute(std::string_view name, Number number)
      : OpaqueAttribute(name, Literal::of(number)) {}
  OpaqueAttribute(std::string_view name, std::string_view text)
      : name(name), text(text), kind(Kind::text) {}
  OpaqueAttribute(std::string_view name, std::vector<std::int64_t> integers)
      : name(name), integers(std::move(integers)), kind(Kind::integers) {}

  enum class Kind : std::uint8_t { number, text, integers };

  std::string name;
  Literal number = {};
  std::string text = {};
  std::vector<std::int64_t> integers = {};
  Kind kind = Kind::number;
};

/// Calls the function registered as `function` (see register_opaque) with `operands`:
///
///     opaque("gemm", {x, w}, {.dtype = bf16, .shape = {rows, 1024}}, {{"alpha", 0.5}})
///
/// The call is a separate launch. Operands and results are row-major arrays without gaps in device
/// memory; a run-time scalar is passed as a number. Nothing is fused into the call or
/// constant-folded. Functions must be pure: equal calls become one call, and a call without used
/// results is removed.
///
/// Throws UserError if there are no operands, or if an operand is a number. Also throws if the text
/// form cannot write a name, or if `function` is the name of a library op.
Tensor opaque(std::string_view function, std::initializer_list<Operand> operands,
              const OpaqueType& result, const std::vector<OpaqueAttribute>& attributes = {},
              const char* file = __builtin_FILE(), int line = __builtin_LINE());

/// The same for a function with 1 to 64 results.
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

class AlgorithmStore;
class CommunicatorEngine;

/// The description of a call before it has memory: `data` of the arrays is null.
struct OpaqueSizes {
  std::string_view function;
  std::span<const OpaqueArray> inputs;   ///< in the order of the operands
  std::span<const OpaqueArray> outputs;  ///< all results, including unused ones
  std::span<const OpaqueAttribute> attributes;

  std::string_view place;                ///< the location in the user's source that recorded it
  bool is_host_device = false;           ///< `data` is host memory, and CUDA cannot be used
  int device = 0;                        ///< its index among devices of its kind
  AlgorithmStore* algorithms = nullptr;  ///< of library ops; null for other functions
  /// Of collectives, in a Context; otherwise null.
  CommunicatorEngine* communicator = nullptr;

  /// The attribute `name`. Throws UserError if it is missing, or has another type.
  double number(std::string_view name) const;
  std::string_view text(std::string_view name) const;
  std::span<const std::int64_t> integers(std::string_view name) const;
  /// The same, but `default_value` if the attribute is missing.
  double number(std::string_view name, double default_value) const;
  std::string_view text(std::string_view name, std::string_view default_value) const;
};

/// One call, which a function puts on a stream.
struct OpaqueCall : OpaqueSizes {
  void* stream = nullptr;     ///< a CUstream; it captures while a CUDA Graph is built
  void* workspace = nullptr;  ///< device memory for this call only, aligned to 256 bytes
  std::int64_t workspace_bytes = 0;

  /// Enqueues `work`, which the CPU runs when the stream reaches it, at each replay of a CUDA
  /// Graph. `work` must call neither CUDA nor sinter. If it throws, a later call of the Context
  /// reports it.
  void on_host(std::function<void()> work) const;

  std::function<void(std::function<void()>)> add_host_work;  ///< implements on_host
};

/// A value of the oracle, row-major: `reals` for floating dtypes, `integers` for other dtypes.
struct OpaqueValue {
  DType dtype = f32;
  std::span<const std::int64_t> shape;
  std::span<const double> reals;
  std::span<const std::int64_t> integers;
  std::span<const double> bounds;  ///< largest error on a device; infinite: undecided
};

/// A result that a reference function computes for the oracle.
struct OpaqueExpected {
  DType dtype = f32;
  std::span<const std::int64_t> shape;
  std::span<double> reals;  ///< the oracle rounds them to the dtype afterwards
  std::span<std::int64_t> integers;
  /// The largest error on a device, before rounding to the dtype. The function fills it in, and
  /// accounts for the bounds of the operands. Initially infinite if an operand has a bound, else 0.
  std::span<double> bounds;
};

/// A call by the oracle. Scalars are values of rank 0.
struct OpaqueReference {
  std::span<const OpaqueValue> inputs;
  std::span<const OpaqueExpected> outputs;
  OpaqueSizes sizes;  ///< for attributes
};

/// A function that opaque calls can name.
struct OpaqueFunction {
  /// Puts the work of one call on its stream. If it throws or returns a number other than 0, the
  /// run ends with an error that names the call. Several threads may call it at once. Its calls in
  /// one run execute in order on the device. Calls of different Contexts are not ordered.
  std::function<int(const OpaqueCall& call)> enqueue;
  /// Bytes of workspace that a call of these sizes needs in device memory. Default: 0.
  std::function<std::int64_t(const OpaqueSizes& sizes)> workspace = {};
  /// Computes the results for the oracle. Without it, checks skip the results of a call.
  std::function<void(const OpaqueReference& call)> reference = {};
  /// False for functions that wait for the stream, or do part of their work outside it. A replay
  /// then runs one CUDA Graph before the call and another one after it.
  bool can_capture = true;
  /// Throws if the function does not support a call of these operands, results and attributes.
  /// Called when kernels are made for new sizes, and when a saved program is loaded.
  std::function<void(const OpaqueSizes& sizes)> check = {};
  /// The version of the computation. A saved program loads only if the registered function has the
  /// version with which it was saved.
  std::int64_t version = 0;
};

/// Registers `function` for the whole process. Graphs that call it can be compiled from then on.
/// Throws UserError if the name is taken, also by a library op, if the text form cannot write it,
/// or without `enqueue`.
void register_opaque(std::string_view name, OpaqueFunction function);
/// Removes the function. Programs that are already compiled keep it. Returns false if no function
/// has this name.
bool unregister_opaque(std::string_view name);

}  // namespace sinter
