#include "tests/onnx/judge/exact.h"

#include <regex>
#include <string>

#include "ir/oracle/interpret.h"
#include "sinter/dtype.h"
#include "sinter/text.h"
#include "tests/onnx/judge/symbols.h"

namespace sinter::test {

namespace {

HostArray in_f64(const HostArray& array) {
  if (!is_floating(array.dtype())) return array;
  HostArray wide(f64, {array.shape().begin(), array.shape().end()});
  for (std::int64_t i = 0; i < array.size(); ++i) wide.set_real_at(i, array.real_at(i));
  return wide;
}

}  // namespace

HostArrays exact_results(const Graph& graph, const HostArrays& inputs) {
  static const std::regex floats(R"(\b(f8e4m3|f8e5m2|f16|bf16|f32)\b)");
  const Graph wide = parse(std::regex_replace(print(graph), floats, "f64"));
  HostArrays wide_inputs;
  for (const auto& [name, value] : inputs) wide_inputs.emplace(name, in_f64(value));
  HostArrays results;
  for (const auto& [name, value] :
       interpret(wide, wide_inputs, solved_symbols(wide, wide_inputs)).outputs)
    results.emplace(name, to_array(value));
  return results;
}

}  // namespace sinter::test
