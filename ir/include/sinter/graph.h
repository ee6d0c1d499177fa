// Graph, Tensor and Operand: the types with which a user records a computation.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/dtype.h"
#include "sinter/shape.h"

namespace sinter {

struct Node;       // internal: one application of an op
struct GraphData;  // internal: the nodes, inputs, outputs and updates

/// A location in the user's source, at which an op was recorded.
struct Location {
  const char* file = "";
  int line = 0;
};

/// A recorded value: a handle of two pointers to the result of a node in a Graph. It holds no data,
/// and is valid as long as the Graph lives. A default-constructed Tensor is empty: every use except
/// assignment throws UserError.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Node* node, GraphData* graph) : node_(node), graph_(graph) {}

  DType dtype() const;
  std::span<const Extent> shape() const;
  int rank() const { return static_cast<int>(shape().size()); }
  /// Names the value in dumps and emitted source, and returns it. An earlier label is replaced. The
  /// computation does not change.
  Tensor label(std::string_view name) const;

  const Node* node() const { return node_; }
  GraphData* graph() const { return graph_; }

 private:
  const Node* node_ = nullptr;
  GraphData* graph_ = nullptr;
};

template <class Number>
concept Arithmetic = std::integral<Number> || std::floating_point<Number>;

/// A number as the user wrote it. Recording converts it to the compute dtype of the op.
struct Literal {
  /// `large_integer`: 2^63 or more.
  enum class Kind : std::uint8_t { boolean, integer, large_integer, real };
  template <Arithmetic Number>
  static constexpr Literal of(Number value) {
    if constexpr (std::same_as<Number, bool>)
      return {.kind = Kind::boolean, .integer = value};
    else if constexpr (std::integral<Number>)
      return {.kind = value > 0 && static_cast<std::int64_t>(value) < 0 ? Kind::large_integer
                                                                        : Kind::integer,
              .integer = static_cast<std::int64_t>(value)};
    else
      return {.kind = Kind::real, .real = static_cast<double>(value)};
  }

  Kind kind = Kind::real;
  std::int64_t integer = 0;  ///< value of a boolean or integer; the 64 bits of a large integer
  double real = 0;           ///< value of a real
};

/// Throws UserError: a default-constructed Tensor cannot be an operand.
[[noreturn]] void fail_empty_tensor(Location location);

/// An argument of an op: a Tensor or a number, with the location of the call.
class Operand {
 public:
  Operand(Tensor tensor, const char* file = __builtin_FILE(),  // NOLINT: implicit on purpose
          int line = __builtin_LINE())
      : tensor(tensor), location{file, line} {
    if (!tensor.node()) fail_empty_tensor(location);
  }
  template <Arithmetic Number>
  Operand(Number value, const char* file = __builtin_FILE(),  // NOLINT: implicit on purpose
          int line = __builtin_LINE())
      : literal(Literal::of(value)), location{file, line} {}
  Operand(Literal literal, Location location) : literal(literal), location(location) {}

  bool is_literal() const { return tensor.node() == nullptr; }

  Tensor tensor;
  Literal literal;
  Location location;
};

/// Optional properties of an input.
struct InputOptions {
  std::vector<Extent> strides = {};  ///< in elements, one per axis; empty: row-major
  std::optional<double> low = {};    ///< smallest random number for it in checks
  std::optional<double> high = {};   ///< largest random number for it in checks
};

/// Optional properties of an output.
struct OutputOptions {
  /// In elements, one per axis, without two elements at one offset. Empty: row-major.
  std::vector<Extent> strides = {};
};

/// A recorded computation. Only one thread at a time may record into it.
class Graph {
 public:
  explicit Graph(std::string_view name);
  explicit Graph(std::unique_ptr<GraphData> data);
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  std::string_view name() const;
  /// The symbol `name`: an extent that can be any size >= 0 at run time.
  Extent extent(std::string_view name);
  /// Declares an array that the program reads. Throws UserError if the name is empty or taken, if
  /// the shape is invalid, or if the strides are negative or have another rank.
  Tensor input(std::string_view name, DType dtype, Extents shape, InputOptions options = {},
               const char* file = __builtin_FILE(), int line = __builtin_LINE());
  /// Declares a number that may differ from call to call; its Tensor has rank 0. Throws UserError
  /// if the name is empty or taken.
  Tensor scalar(std::string_view name, DType dtype, const char* file = __builtin_FILE(),
                int line = __builtin_LINE());
  /// Makes `value` an output called `name`. Throws UserError if the name is empty or taken. Also
  /// throws if the strides have another rank, are negative, or put two elements at one offset.
  void output(std::string_view name, Operand value, OutputOptions options = {});
  /// Writes `value` into the input `parameter` after all reads of its old value. Throws UserError
  /// if `parameter` is not an input array, has another type than `value`, or already has an update.
  /// Also throws if its strides put two elements at one offset.
  void update(Operand parameter, Operand value);

  GraphData& data() { return *data_; }
  const GraphData& data() const { return *data_; }

 private:
  std::unique_ptr<GraphData> data_;
};

}  // namespace sinter
