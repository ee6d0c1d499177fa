// calibrate: the ranges of the operands of products, measured by fused kernels on examples.
#include "compiler/simplify/graph_sweep.h"
#include "ir/text/print.h"
#include "runtime/quantization/weight_values.h"
#include "sinter/error.h"
#include "sinter/quantization.h"
#include "sinter/views.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>

#include <fmt/format.h>

namespace sinter {

namespace {

constexpr std::int64_t kBins = 2048;
using Counts = std::vector<std::int64_t>;  ///< of elements, by bin

/// The values to observe, and a graph whose outputs are statistics of them.
struct Observed {
  Graph graph;
  std::vector<Tensor> values;
  std::vector<std::string> names;
};

Observed observed(const Graph& graph, std::span<const std::string> weights) {
  Observed result{.graph = clone(graph), .values = {}, .names = {}};
  GraphData& data = result.graph.data();
  const std::vector<bool> is_weight = weight_values(data, weights, "calibrate");
  const ValueNames names(data);
  for (const Node* node : activations_of_products(data, is_weight)) {
    result.values.push_back(tensor(data, node));
    result.names.push_back(names.of(node));
  }
  data.outputs.clear();
  data.updates.clear();
  data.invalidate_liveness();
  return result;
}

void check_examples(const Graph& graph, std::span<const std::vector<Binding>> examples,
                    const CalibrationOptions& options) {
  if (examples.empty())
    throw UserError(fmt::format(
        "calibrate: graph {} has no example to run on; bind its inputs at least once",
        graph.name()));
  if (!(options.percentile > 0 && options.percentile <= 100))
    throw UserError(fmt::format("calibrate: the percentile is {}; it must be above 0 and at most "
                                "100",
                                options.percentile));
}

/// Runs `graph` on every example. `use` gets the number of the example, and a function that returns
/// the elements of an output.
template <class Element, class Use>
void run_all(const Graph& graph, Device device, BindingList weights,
             std::span<const std::vector<Binding>> examples, std::span<const Binding> more,
             const Use& use) {
  const Executable executable = compile(graph, device).with_weights(weights);
  const Stream stream = device.stream();
  Context context = executable.context();
  for (std::size_t i = 0; i < examples.size(); ++i) {
    std::vector<Binding> bindings = examples[i];
    bindings.insert(bindings.end(), more.begin(), more.end());
    const Outputs outputs = context.run(stream, bindings);
    use(i, [&](std::size_t output) {
      return device.download<Element>(outputs[static_cast<int>(output)], stream);
    });
  }
}

std::vector<ValueRange> ranges_of_all(Observed& to, Device device, BindingList weights,
                                      std::span<const std::vector<Binding>> examples) {
  std::vector<ValueRange> ranges;
  for (std::size_t i = 0; i < to.values.size(); ++i) {
    to.graph.output(fmt::format("calibration_low_{}", i), cast(min(to.values[i]), f32));
    to.graph.output(fmt::format("calibration_high_{}", i), cast(max(to.values[i]), f32));
    ranges.push_back({.value = to.names[i], .low = INFINITY, .high = -INFINITY});
  }
  if (ranges.empty()) return ranges;
  run_all<float>(
      to.graph, device, weights, examples, {}, [&](std::size_t example, const auto& elements) {
        for (std::size_t i = 0; i < ranges.size(); ++i) {
          const double low = elements(2 * i)[0];
          const double high = elements(2 * i + 1)[0];
          if (!std::isfinite(low) || !std::isfinite(high) || low > high)
            throw UserError(
                fmt::format("calibrate: {} is from {} to {} in example {}; its elements must be "
                            "finite, and there must be some",
                            ranges[i].value, low, high, example));
          ranges[i].low = std::min(ranges[i].low, low);
          ranges[i].high = std::max(ranges[i].high, high);
        }
      });
  return ranges;
}

/// The number of elements of `value` in each of kBins equal parts of [low, low + kBins * width].
Tensor histogram(Graph& graph, const Tensor& value, const Tensor& low, const Tensor& width) {
  const Extent all[] = {product(value.shape())};
  const Tensor flat = cast(reshape(value, all), f32);
  const Tensor bin = minimum(maximum((flat - low) / width, 0.0), static_cast<double>(kBins - 1));
  return scatter_add(full(graph, {kBins}, 0, i64), 0, cast(bin, i32), full(graph, all, 1, i64));
}

/// The range without `cut` of the elements on each side.
ValueRange without_tails(const ValueRange& whole, const Counts& counts, double cut) {
  const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), 0LL));
  const double width = (whole.high - whole.low) / static_cast<double>(kBins);
  const auto skipped = [&](auto begin, auto end) {
    std::int64_t sum = 0;
    std::int64_t bins = 0;
    for (auto at = begin; at != end && static_cast<double>(sum + *at) <= cut * total; ++at, ++bins)
      sum += *at;
    return width * static_cast<double>(bins);
  };
  return {.value = whole.value,
          .low = whole.low + skipped(counts.begin(), counts.end()),
          .high = whole.high - skipped(counts.rbegin(), counts.rend())};
}

std::vector<ValueRange> ranges_of_most(Observed& to, Device device, BindingList weights,
                                       std::span<const std::vector<Binding>> examples,
                                       const std::vector<ValueRange>& whole, double percentile) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    names.push_back(fmt::format("calibration_low_{}", i));
    names.push_back(fmt::format("calibration_width_{}", i));
  }
  std::vector<Binding> parts;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const Tensor low = to.graph.scalar(names[2 * i], f32);
    const Tensor width = to.graph.scalar(names[2 * i + 1], f32);
    to.graph.output(fmt::format("calibration_histogram_{}", i), histogram(to.graph, to.values[i], low, width));
    constexpr double kLeastWidth = 1e-37;
    parts.emplace_back(names[2 * i], static_cast<float>(whole[i].low));
    parts.emplace_back(names[2 * i + 1],
                       static_cast<float>(std::max((whole[i].high - whole[i].low) / kBins,
                                                   kLeastWidth)));
  }
  std::vector<Counts> counts(whole.size(), Counts(kBins));
  run_all<std::int64_t>(
      to.graph, device, weights, examples, parts, [&](std::size_t, const auto& elements) {
        for (std::size_t i = 0; i < counts.size(); ++i)
          std::ranges::transform(counts[i], elements(i), counts[i].begin(), std::plus<>());
      });
  std::vector<ValueRange> ranges;
  for (std::size_t i = 0; i < whole.size(); ++i)
    ranges.push_back(without_tails(whole[i], counts[i], (100 - percentile) / 200));
  return ranges;
}

}  // namespace

std::vector<ValueRange> calibrate(const Graph& graph, Device device, BindingList weights,
                                  std::span<const std::vector<Binding>> examples,
                                  const CalibrationOptions& options) {
  check_examples(graph, examples, options);
  std::vector<std::string> names;
  for (const Binding& weight : weights) names.emplace_back(weight.name);
  Observed all = observed(graph, names);
  std::vector<ValueRange> ranges = ranges_of_all(all, device, weights, examples);
  if (options.method == RangeMethod::min_max || ranges.empty()) return ranges;
  Observed most = observed(graph, names);
  return ranges_of_most(most, device, weights, examples, ranges, options.percentile);
}

}  // namespace sinter
