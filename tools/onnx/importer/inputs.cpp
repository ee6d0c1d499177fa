#include "tools/onnx/importer/inputs.h"

#include "sinter/error.h"
#include "tools/onnx/model/element_type.h"
#include "tools/onnx/node/call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::onnx {

namespace {

/// Older files list all initialisers as inputs.
constexpr std::int64_t kFirstVersionOfDefaults = 4;

/// The recorded input for `input`.
Tensor input_tensor(const ValueInfoProto& input, Dimensions& dimensions, ImportState& state) {
  if (!input.type.tensor_type)
    refuse("it has no tensor type; sequences, maps and optional values are not supported");
  const TensorTypeProto& type = *input.type.tensor_type;
  const std::optional<DType> dtype = dtype_of(type.elem_type);
  if (!dtype)
    refuse(fmt::format("its elements are {}, for which sinter has no dtype",
                       element_type_name(type.elem_type)));
  if (!type.shape) refuse("its rank is unknown; give it a shape, whose extents may be symbols");
  if (type.shape->dim.size() > static_cast<std::size_t>(kMaxRank))
    refuse(fmt::format("it has {} axes; arrays have at most {}", type.shape->dim.size(), kMaxRank));
  const std::string name = state.recording.names.add(input.name);
  state.names.emplace(input.name, name);
  std::vector<Extent> shape;
  for (std::size_t axis = 0; axis < type.shape->dim.size(); ++axis)
    shape.push_back(dimensions.extent(state.recording.graph, type.shape->dim[axis],
                                      fmt::format("{}_dim{}", name, axis)));
  return state.recording.graph.input(name, *dtype, shape);
}

}  // namespace

Extent Dimensions::extent(Graph& graph, const DimensionProto& dimension,
                          const std::string& fallback) {
  if (!dimension.dim_param.empty()) return named(graph, dimension.dim_param);
  if (!dimension.dim_value || *dimension.dim_value == -1) return named(graph, fallback);
  if (*dimension.dim_value < 0)
    refuse(fmt::format("an extent is {}; extents are at least 0", *dimension.dim_value));
  return *dimension.dim_value;
}

Extent Dimensions::named(Graph& graph, std::string_view name) {
  const auto known = symbols_.find(name);
  const std::string symbol = known == symbols_.end() ? names_.add(name) : known->second;
  symbols_.emplace(name, symbol);
  for (const std::string& wanted : {std::string(name), symbol})
    if (const auto given = given_.find(wanted); given != given_.end()) {
      used_.insert(wanted);
      return given->second;
    }
  return graph.extent(symbol);
}

void Dimensions::check_all_used() const {
  for (const auto& [name, size] : given_) {
    if (used_.contains(name)) continue;
    std::vector<std::string_view> symbols;
    for (const auto& [in_model, symbol] : symbols_) symbols.push_back(symbol);
    refuse(fmt::format("--dim {}={}: the model has {}", name, size,
                       symbols.empty()
                           ? "no symbolic dimensions"
                           : fmt::format("the dimensions {}", fmt::join(symbols, ", "))));
  }
}

void add_inputs(const GraphProto& graph, std::int64_t ir_version, Dimensions& dimensions,
                const HostArrays& constants, ImportState& state, Scope& scope) {
  for (const ValueInfoProto& input : graph.input) {
    const std::string where = fmt::format("input '{}'", shown_name(input.name));
    const ValueRef defined = scope.find(input.name);
    if (defined && defined->tensor.node()) {
      state.problems.add(where, "its name is already defined");
      continue;
    }
    if (defined) {
      defined->is_default = ir_version >= kFirstVersionOfDefaults;
      continue;
    }
    const auto value = std::make_shared<Value>();
    if (input.type.tensor_type) value->narrow = narrow_type(input.type.tensor_type->elem_type);
    try {
      if (input.name.empty()) refuse("it has no name");
      if (const auto given = constants.find(input.name); given != constants.end())
        value->array = std::make_shared<const HostArray>(given->second);
      else
        value->tensor = input_tensor(input, dimensions, state);
    } catch (const UserError& error) {
      state.problems.add(where, error.what());
      value->is_failed = true;
    }
    scope.add(input.name, value);
  }
}

}  // namespace sinter::onnx
