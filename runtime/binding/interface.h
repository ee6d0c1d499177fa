// Interface: the slots of an executable (inputs, scalars, outputs), and the equations that derive
// sizes from the arrays bound to them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sinter/collectives.h"
#include "sinter/dtype.h"
#include "sinter/graph.h"
#include "sinter/shape.h"

namespace sinter {

/// The position of an output's elements in the array of another slot, in elements.
struct SlotView {
  int base = 0;
  Extent offset;
  std::vector<Extent> strides;
};

/// One argument of a call.
struct Slot {
  enum class Kind : std::uint8_t { input, scalar, output };
  Kind kind = Kind::input;
  std::string name;
  DType dtype = DType::f32;
  std::vector<Extent> shape;
  std::vector<Extent> strides;   ///< in elements; empty: row-major
  bool is_written = false;       ///< an output, or an input with an update
  std::optional<SlotView> view;  ///< of an output that may be left unbound

  bool is_array() const { return kind != Kind::scalar; }
};

/// The size of axis `axis` of slot `slot` (or its stride) is `extent`.
struct SizeEquation {
  int slot = 0;
  int axis = 0;
  bool is_stride = false;
  Extent extent;
};

/// An equation solved for its unknown: symbol = (size − rest) / factor, or 0 if factor is 0.
struct SolveStep {
  SizeEquation equation;
  int symbol = 0;
  Extent factor = 1;
  Extent rest;
};

/// The slots are the graph's inputs and scalars as declared, then its outputs.
struct Interface {
  std::string name;         ///< of the graph
  std::string compiled_at;  ///< of the call of compile: `model.cpp:42`
  std::vector<Slot> slots;
  int input_count = 0;  ///< inputs and scalars
  std::vector<std::string> symbols;
  std::vector<SolveStep> steps;         ///< in order; inputs first, then outputs
  std::vector<SizeEquation> equations;  ///< all equations must hold
  std::vector<RankGroup> groups;        ///< of its collectives, in the order of their first use

  int output_count() const { return static_cast<int>(slots.size()) - input_count; }
};

/// The interface of `graph`. Throws UserError for a graph that cannot be run: without outputs and
/// updates, or with a size that does not follow from any array.
Interface interface_of(const Graph& graph, Location compiled_at);
/// `whole` with the equations of some of its slots only, as far as these determine the symbols.
Interface restricted_to(const Interface& whole, const std::vector<bool>& slots);

/// `input x`, `scalar lr`, `output y`
std::string to_string(const Slot& slot);
/// `bf16[rows, 4096]`
std::string type_text(const Slot& slot);

}  // namespace sinter
