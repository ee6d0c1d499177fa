#include "tests/onnx/models/run_model.h"

#include "ir/oracle/interpret.h"
#include "tests/onnx/judge/symbols.h"

namespace sinter::test {

HostArrays outputs_of(const ModelBuilder& model, const HostArrays& inputs) {
  const onnx::ImportedModel imported = model.import();
  HostArrays all = inputs;
  for (const onnx::Weight& weight : imported.weights) all.emplace(weight.name, *weight.array);
  HostArrays results;
  for (const auto& [name, value] :
       interpret(imported.graph, all, solved_symbols(imported.graph, all)).outputs)
    results.emplace(name, to_array(value));
  return results;
}

HostArray real_array(DType dtype, std::vector<std::int64_t> shape,
                     const std::vector<double>& values) {
  HostArray array(dtype, std::move(shape));
  for (std::size_t i = 0; i < values.size(); ++i)
    array.set_real_at(static_cast<std::int64_t>(i), values[i]);
  return array;
}

HostArray integer_array(DType dtype, std::vector<std::int64_t> shape,
                        const std::vector<std::int64_t>& values) {
  HostArray array(dtype, std::move(shape));
  for (std::size_t i = 0; i < values.size(); ++i)
    array.set_integer_at(static_cast<std::int64_t>(i), values[i]);
  return array;
}

std::vector<double> reals_of(const HostArray& array) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < array.size(); ++i) values.push_back(array.real_at(i));
  return values;
}

std::vector<std::int64_t> integers_of(const HostArray& array) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < array.size(); ++i) values.push_back(array.integer_at(i));
  return values;
}

}  // namespace sinter::test
