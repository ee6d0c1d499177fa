// The Python objects of recorded values: what they hold beside the handles of C++.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string_view>

#include "sinter/array.h"
#include "sinter/device.h"
#include "sinter/graph.h"

namespace sinter::python {

namespace nb = nanobind;

/// A Graph whose Python object can be found from its data, so that values keep it alive.
class GraphObject : public Graph {
 public:
  explicit GraphObject(std::string_view name);
  explicit GraphObject(Graph graph);
  ~GraphObject();
  GraphObject(const GraphObject&) = delete;
  GraphObject& operator=(const GraphObject&) = delete;
};

/// The Python object of the graph with this data.
nb::object graph_object(const GraphData* data);

/// A Tensor that keeps its graph alive.
struct TensorObject {
  Tensor tensor;
  nb::object graph;
};

/// An expression over symbols that keeps its graph alive. Numbers are ints in Python.
struct ExtentObject {
  Extent extent;
  nb::object graph;
};

/// An int for a number, else an ExtentObject.
nb::object extent_object(Extent extent, const nb::object& graph);
nb::tuple shape_tuple(std::span<const Extent> shape, const nb::object& graph);

/// A dtype as a Python object. There is one object per dtype.
struct DTypeObject {
  DType dtype;
};

/// The object of `dtype`, a borrowed reference.
nb::handle dtype_object(DType dtype);
/// The dtype that `source` names: a DTypeObject, a text, or a dtype of NumPy, PyTorch or JAX.
/// Returns nullopt if there is none.
std::optional<DType> dtype_named(nb::handle source) noexcept;

/// An Array, and the stream that wrote it last, if sinter knows it.
struct ArrayObject {
  Array array;
  std::optional<Stream> writer = {};
};

/// Sets the function that turns other objects into operands, such as arrays that a traced function closes
/// over. It returns a Tensor, a number, or None.
void set_operand_hook(nb::object function);
/// The result of the hook for `source`; invalid if there is none, or if it fails.
nb::object hooked_operand(nb::handle source) noexcept;

/// The Literal of a Python or NumPy number; nullopt for other objects.
std::optional<Literal> literal_of(nb::handle source) noexcept;

}  // namespace sinter::python
