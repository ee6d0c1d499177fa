// calibrate: the ranges of the operands of products, measured by fused kernels on examples.
#include "compiler/simplify/graph_sweep.h"
#include "ir/text/print.h"
#include "runtime/quantization/weight_values.h"
#include "sinter/error.h"
#include "sinter/ops.h"
#include "sinter/quantization.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include <fmt/format.h>

namespace sinter {

namespace {

// Each round of the search for the ends of a range divides it by kParts.
constexpr int kParts = 16;
constexpr int kRounds = 3;
constexpr std::int64_t kThresholds = 2 * (kParts - 1) + 1;
using Counts = std::vector<std::int64_t>;  ///< of elements below each threshold

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
    throw UserError(
        fmt::format("calibrate: graph {} has no example to run on; bind its inputs at least once",
                    graph.name()));
  if (!(options.percentile > 0 && options.percentile <= 100))
    throw UserError(
        fmt::format("calibrate: the percentile is {}; it must be above 0 and at most "
                    "100",
                    options.percentile));
}

/// Runs on every example. `use` gets the number of the example, and a function that returns the
/// elements of an output.
template <class Element, class Use>
void run_all(const Executable& executable, const Stream& stream,
             std::span<const std::vector<Binding>> examples, std::span<const Binding> more,
             const Use& use) {
  Context context = executable.context();
  for (std::size_t i = 0; i < examples.size(); ++i) {
    std::vector<Binding> bindings = examples[i];
    bindings.insert(bindings.end(), more.begin(), more.end());
    const Outputs outputs = context.run(stream, bindings);
    use(i, [&](std::size_t output) {
      return stream.device().download<Element>(outputs[static_cast<int>(output)], stream);
    });
  }
}

std::vector<ValueRange> ranges_of_all(Observed& to, const Stream& stream, BindingList weights,
                                      std::span<const std::vector<Binding>> examples) {
  std::vector<ValueRange> ranges;
  for (std::size_t i = 0; i < to.values.size(); ++i) {
    to.graph.output(fmt::format("calibration_low_{}", i), cast(min(to.values[i]), f32));
    to.graph.output(fmt::format("calibration_high_{}", i), cast(max(to.values[i]), f32));
    ranges.push_back({.value = to.names[i], .low = INFINITY, .high = -INFINITY});
  }
  if (ranges.empty()) return ranges;
  run_all<float>(compile(to.graph, stream.device()).with_weights(weights), stream, examples, {},
                 [&](std::size_t example, const auto& elements) {
                   for (std::size_t i = 0; i < ranges.size(); ++i) {
                     const double low = elements(2 * i)[0];
                     const double high = elements(2 * i + 1)[0];
                     if (!std::isfinite(low) || !std::isfinite(high) || low > high)
                       throw UserError(fmt::format(
                           "calibrate: {} is from {} to {} in example {}; its elements must be "
                           "finite, and there must be some",
                           ranges[i].value, low, high, example));
                     ranges[i].low = std::min(ranges[i].low, low);
                     ranges[i].high = std::max(ranges[i].high, high);
                   }
                 });
  return ranges;
}

/// The two ends of the range of most elements, each known to be between two numbers.
class Ends {
 public:
  /// `share` of the elements are to be outside at each end.
  Ends(const ValueRange& whole, double share)
      : low_{.good = whole.low, .bad = whole.high},
        high_{.good = whole.high, .bad = whole.low},
        share_(share) {}

  /// Numbers between those of each end, to compare the elements with. The last one is infinite.
  std::vector<float> thresholds() const {
    std::vector<float> result;
    for (const Bracket& end : {low_, high_})
      for (int i = 1; i <= kParts - 1; ++i) result.push_back(static_cast<float>(end.at(i)));
    result.push_back(INFINITY);
    return result;
  }

  /// Moves each end to the part that contains it. `below` has the number of elements below each
  /// threshold.
  void narrow(const Counts& below) {
    const auto total = static_cast<double>(below.back());
    const auto part_of = [&](std::size_t first, const auto& is_good) {
      int part = 0;
      while (part < kParts - 1 &&
             is_good(static_cast<double>(below[first + static_cast<std::size_t>(part)])))
        ++part;
      return part;
    };
    low_.narrow(part_of(0, [&](double count) { return count <= share_ * total; }));
    high_.narrow(
        part_of(kParts - 1, [&](double count) { return total - count <= share_ * total; }));
  }

  ValueRange range(const std::string& value) const {
    return {.value = value, .low = low_.good, .high = high_.good};
  }

 private:
  /// At `good`, few enough elements are outside; at `bad`, perhaps too many.
  struct Bracket {
    double good;
    double bad;
    double at(int part) const { return good + (bad - good) * part / kParts; }
    void narrow(int part) { *this = {.good = at(part), .bad = at(part + 1)}; }
  };

  Bracket low_;
  Bracket high_;
  double share_;
};

std::vector<ValueRange> ranges_of_most(Observed& to, const Stream& stream, BindingList weights,
                                       std::span<const std::vector<Binding>> examples,
                                       const std::vector<ValueRange>& whole, double percentile) {
  const Device device = stream.device();
  std::vector<std::string> names;
  std::vector<Array> thresholds;
  std::vector<Ends> ends;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    names.push_back(fmt::format("calibration_thresholds_{}", i));
    thresholds.push_back(device.empty(f32, {kThresholds}));
    ends.emplace_back(whole[i], (100 - percentile) / 200);
    const Tensor numbers = to.graph.input(names[i], f32, {kThresholds});
    const Extent column[] = {product(to.values[i].shape()), 1};
    const Tensor is_below = lt(cast(reshape(to.values[i], column), f32), numbers);
    to.graph.output(fmt::format("calibration_below_{}", i), sum(is_below, {0}));
  }
  std::vector<Binding> more;
  for (std::size_t i = 0; i < whole.size(); ++i) more.emplace_back(names[i], thresholds[i]);
  const Executable executable = compile(to.graph, device).with_weights(weights);
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < whole.size(); ++i)
      device.upload(thresholds[i], ends[i].thresholds(), stream);
    std::vector<Counts> below(whole.size(), Counts(kThresholds));
    run_all<std::int64_t>(
        executable, stream, examples, more, [&](std::size_t, const auto& elements) {
          for (std::size_t i = 0; i < below.size(); ++i)
            std::ranges::transform(below[i], elements(i), below[i].begin(), std::plus<>());
        });
    for (std::size_t i = 0; i < whole.size(); ++i) ends[i].narrow(below[i]);
  }
  std::vector<ValueRange> ranges;
  for (std::size_t i = 0; i < whole.size(); ++i) ranges.push_back(ends[i].range(whole[i].value));
  return ranges;
}

}  // namespace

std::vector<ValueRange> calibrate(const Graph& graph, const Stream& stream, BindingList weights,
                                  std::span<const std::vector<Binding>> examples,
                                  const CalibrationOptions& options) {
  check_examples(graph, examples, options);
  std::vector<std::string> names;
  for (const Binding& weight : weights) names.emplace_back(weight.name);
  Observed all = observed(graph, names);
  std::vector<ValueRange> ranges = ranges_of_all(all, stream, weights, examples);
  if (options.method == RangeMethod::min_max || ranges.empty()) return ranges;
  Observed most = observed(graph, names);
  return ranges_of_most(most, stream, weights, examples, ranges, options.percentile);
}

}  // namespace sinter
