// Post-training quantisation.
#include "bind.h"
#include "arrays/call_arguments.h"
#include "arrays/stream_of.h"

#include <nanobind/stl/pair.h>

#include "sinter/quantization.h"

namespace sinter::python {

using namespace nanobind::literals;

namespace {

nb::object owned(Graph graph) { return nb::cast(new GraphObject(std::move(graph)), nb::rv_policy::take_ownership); }

std::vector<ValueRange> calibrated(const GraphObject& graph, nb::dict weights, const std::vector<nb::dict>& examples,
                                   nb::object given, RangeMethod method, double percentile) {
  const Device device = default_device();
  const Stream stream = given.is_none() ? device.stream() : stream_of(given, device);
  CallArguments bound(stream.device(), stream.handle());
  bound.add(weights);
  std::deque<CallArguments> arguments;
  std::vector<std::vector<Binding>> lists;
  for (const nb::dict& example : examples) {
    arguments.emplace_back(stream.device(), stream.handle()).add(example);
    const BindingList list = arguments.back();
    lists.emplace_back(list.begin(), list.end());
  }
  const nb::gil_scoped_release released;
  return calibrate(graph, stream, bound, lists, {.method = method, .percentile = percentile});
}

}  // namespace

void bind_quantization(nb::module_& m) {
  m.def("calibrate", &calibrated, "graph"_a, "weights"_a, "examples"_a, nb::kw_only(), "stream"_a.none() = nb::none(),
        "method"_a = "min_max", "percentile"_a = 99.99,
        "Runs `graph` on `examples`, a list of dictionaries, and returns the ranges of operands of products.");
  m.def("quantize_products",
        [](const GraphObject& graph, const std::vector<std::string>& weights, const std::vector<ValueRange>& ranges,
           DType dtype, bool per_axis, bool zero_points) {
          QuantizedGraph result = quantize_products(graph, weights, ranges,
                                                    {.dtype = dtype, .per_axis = per_axis, .zero_points = zero_points});
          return nb::make_tuple(owned(std::move(result.graph)), result.products, result.skipped);
        },
        "graph"_a, "weights"_a, "ranges"_a, nb::kw_only(), "dtype"_a = nb::borrow(dtype_object(i8)), "per_axis"_a = true,
        "zero_points"_a = true,
        "Puts the operands of matrix products and convolutions through quantize and dequantize. Returns the graph, the number "
        "of changed products, and the skipped ones with reasons.");
  m.def("fold_dequantization",
        [](const GraphObject& graph) {
          QuantizedGraph result = fold_dequantization(graph);
          return nb::make_tuple(owned(std::move(result.graph)), result.products, result.skipped);
        },
        "graph"_a, "Replaces products of dequantised operands by products of 8-bit operands.");
  m.def("precompute",
        [](const GraphObject& graph, const std::vector<std::string>& weights) {
          PrecomputedGraph result = precompute(graph, weights);
          return std::pair(owned(std::move(result.graph)), owned(std::move(result.weights)));
        },
        "graph"_a, "weights"_a, "Splits off what depends on the inputs `weights` alone. Returns the graph, and that of the weights.");
}

}  // namespace sinter::python
