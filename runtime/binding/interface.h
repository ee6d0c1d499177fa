// What an executable takes: its slots (inputs, scalars, outputs), and how the sizes follow from
// what is bound to them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sinter/dtype.h"
#include "sinter/graph.h"
#include "sinter/shape.h"

namespace sinter {

/// Where the elements of an output lie in what is bound to another slot, in elements.
struct SlotView {
  int base = 0;
  Extent offset;
  std::vector<Extent> strides;
};

/// One thing that a caller binds.
struct Slot {
  enum class Kind : std::uint8_t { input, scalar, output };
  Kind kind = Kind::input;
  std::string name;
  DType dtype = DType::f32;
  std::vector<Extent> shape;
  std::vector<Extent> strides;   ///< in elements; empty: row-major
  bool is_written = false;       ///< an output, or an input with an update
  std::optional<SlotView> view;  ///< of an output that need not be bound

  bool is_array() const { return kind != Kind::scalar; }
};

/// The size of axis `axis` of slot `slot` (or its stride) is `extent`.
struct SizeEquation {
  int slot = 0;
  int axis = 0;
  bool is_stride = false;
  Extent extent;
};

/// An equation solved for its one unknown: symbol = (size − rest) / factor, or 0 where factor is 0.
struct SolveStep {
  SizeEquation equation;
  int symbol = 0;
  Extent factor = 1;
  Extent rest;
};

/// The slots are the graph's inputs and scalars as declared, then its outputs.
struct Interface {
  std::string name;   ///< of the graph
  std::string place;  ///< of the call of compile: `model.cpp:42`
  std::vector<Slot> slots;
  int input_count = 0;  ///< inputs and scalars
  std::vector<std::string> symbols;
  std::vector<SolveStep> steps;         ///< in this order; those of inputs before those of outputs
  std::vector<SizeEquation> equations;  ///< all that have to hold

  int output_count() const { return static_cast<int>(slots.size()) - input_count; }
};

/// Throws UserError for a graph that cannot be run: without outputs and updates, or with a size
/// that follows from no array.
Interface interface_of(const Graph& graph, Location compiled_at);

/// `input x`, `scalar lr`, `output y`
std::string to_string(const Slot& slot);
/// `bf16[rows, 4096]`
std::string type_text(const Slot& slot);
/// The unsolved symbols of `extent` when those with a negative value are unknown.
std::vector<int> unknown_symbols(Extent extent, std::span<const std::int64_t> symbols);

}  // namespace sinter
