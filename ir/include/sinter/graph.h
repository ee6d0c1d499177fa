// Graph and Tensor: what a user records a computation with.
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

struct Node;       // internal: one op applied
struct GraphData;  // internal: the arena and what belongs to it

/// A place in the user's source: where an op was recorded.
struct Location {
  const char* file = "";
  int line = 0;
};

/// A recorded value: a two-word handle to a node's result in a Graph. It holds no data and lives as
/// long as its Graph. A default-constructed one is empty: every use but assignment throws
/// UserError.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Node* node, GraphData* graph) : node_(node), graph_(graph) {}

  DType dtype() const;
  std::span<const Extent> shape() const;
  int rank() const { return static_cast<int>(shape().size()); }
  /// Names the value in dumps and emitted source; the computation is not changed by it.
  Tensor label(std::string_view name) const;

  const Node* node() const { return node_; }
  GraphData* graph() const { return graph_; }

 private:
  const Node* node_ = nullptr;
  GraphData* graph_ = nullptr;
};

template <class Number>
concept Arithmetic = std::integral<Number> || std::floating_point<Number>;

/// A number, written as the user wrote it; it takes the op's compute type when it is recorded.
struct Literal {
  /// `natural` is an integer of 2^63 or more.
  enum class Kind : std::uint8_t { boolean, integer, natural, real };
  template <Arithmetic Number>
  static constexpr Literal of(Number value) {
    if constexpr (std::same_as<Number, bool>)
      return {.kind = Kind::boolean, .integer = value};
    else if constexpr (std::integral<Number>)
      return {
          .kind = value > 0 && static_cast<std::int64_t>(value) < 0 ? Kind::natural : Kind::integer,
          .integer = static_cast<std::int64_t>(value)};
    else
      return {.kind = Kind::real, .real = static_cast<double>(value)};
  }

  Kind kind = Kind::real;
  std::int64_t integer = 0;  ///< of a boolean or integer; the 64 bits of a natural
  double real = 0;           ///< of a real
};

/// Throws UserError: a default-constructed Tensor is no operand.
[[noreturn]] void fail_empty_tensor(Location location);

/// An argument of an op: a Tensor or a number, with the place of the call.
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

/// What may be said of an input beyond its dtype and shape.
struct InputOptions {
  std::vector<Extent> strides = {};  ///< in elements, one per axis; empty: row-major
  std::optional<double> low = {};    ///< range of the random numbers that checks fill it with
  std::optional<double> high = {};
};

/// What may be said of an output beyond its value.
struct OutputOptions {
  std::vector<Extent> strides =
      {};  ///< in elements, one per axis, no two elements in one place; row-major
};

/// A recorded computation. Belongs to one thread while it is being recorded.
class Graph {
 public:
  explicit Graph(std::string_view name);
  explicit Graph(std::unique_ptr<GraphData> data);
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  std::string_view name() const;
  /// The symbol `name`: an extent that may be any size >= 0 at run time.
  Extent extent(std::string_view name);
  /// An array that the program reads. Throws UserError on a taken name, or strides of another rank
  /// or below 0.
  Tensor input(std::string_view name, DType dtype, Extents shape, InputOptions options = {},
               const char* file = __builtin_FILE(), int line = __builtin_LINE());
  /// A number that may differ from call to call; rank 0.
  Tensor scalar(std::string_view name, DType dtype, const char* file = __builtin_FILE(),
                int line = __builtin_LINE());
  /// Makes `value` an output called `name`. Throws UserError on a taken name, or strides of another
  /// rank, below 0, or that put two elements in one place.
  void output(std::string_view name, Operand value, OutputOptions options = {});
  /// Writes `value` into the input `parameter` after everything that reads its old value. Throws
  /// UserError where it is no input, or one whose strides put two elements in one place.
  void update(Operand parameter, Operand value);

  GraphData& data() { return *data_; }
  const GraphData& data() const { return *data_; }

 private:
  std::unique_ptr<GraphData> data_;
};

}  // namespace sinter
