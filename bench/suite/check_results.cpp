// Runs graphs on random inputs and compares the results with the oracle's.
#include "bench/suite/check_results.h"

#include <algorithm>
#include <map>

#include "ir/oracle/check.h"
#include "ir/oracle/interpret.h"
#include "ir/oracle/random_inputs.h"

namespace sinter::suite {

namespace {

HostArray downloaded(const Array& array, const Stream& stream) {
  HostArray result(array.dtype(), {array.shape().begin(), array.shape().end()});
  stream.device().download(array, static_cast<void*>(result.bytes().data()), stream);
  stream.synchronize();
  return result;
}

void add(ResultCheck& total, std::string_view name, const Expected& expected,
         const HostArray& actual) {
  const CheckResult result = check(expected, actual);
  total.worst = std::max(total.worst, result.worst);
  total.elements += result.elements;
  if (!result.passes() && total.problem.empty()) total.problem = describe(name, result);
}

}  // namespace

ResultCheck check_results(const std::string& text, std::uint64_t seed, const Device& device,
                          const Options& options) {
  const Graph graph = parse(text);
  const HostArrays inputs = random_inputs(graph, {}, seed);
  const Stream stream = device.stream();
  std::map<std::string, Array> arrays;
  std::vector<Binding> bound;
  for (const auto& [name, values] : inputs) {
    const Array array = device.empty(values.dtype(), values.shape());
    device.upload(array, static_cast<const void*>(values.bytes().data()), stream);
    bound.emplace_back(name, arrays.emplace(name, array).first->second);
  }
  Context context = compile(graph, device, options).context();
  const Outputs outputs = context.run(stream, bound);

  const Interpretation expected = interpret(graph, inputs, {});
  ResultCheck total;
  for (const auto& [name, value] : expected.outputs)
    add(total, name, value, downloaded(outputs[name], stream));
  for (const auto& [name, value] : expected.updates)
    add(total, name, value, downloaded(arrays.at(name), stream));
  return total;
}

std::vector<OracleSample> oracle_samples(const std::string& text, std::uint64_t seed) {
  const Graph graph = parse(text);
  const Interpretation expected = interpret(graph, random_inputs(graph, {}, seed), {});
  const std::int64_t most = expected.outputs.size() + expected.updates.size() > 4 ? 2 : 12;
  std::vector<OracleSample> samples;
  for (const auto* results : {&expected.outputs, &expected.updates})
    for (const auto& [name, value] : *results) {
      OracleSample& sample = samples.emplace_back(OracleSample{.name = name, .values = {}});
      const std::int64_t count = std::min(most, value.size());
      for (std::int64_t i = 0; i < count; ++i)
        sample.values.push_back(value.real(i * value.size() / count));
    }
  return samples;
}

}  // namespace sinter::suite
