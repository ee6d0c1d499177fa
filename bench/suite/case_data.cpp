// Allocates and fills the arrays of a case, and finds elements that were never written.
#include "bench/suite/case_data.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "ir/oracle/random_inputs.h"
#include "ir/shape/extent.h"
#include "runtime/device/device_state.h"

namespace sinter::suite {

namespace {

constexpr std::int64_t kAlignment = 256;
constexpr std::byte kPoison{0xff};  // NaN as a float, -1 as an index: no case returns these

std::int64_t padded(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::vector<std::int64_t> shape_of(const Node& node) { return evaluate_all(node.shape, {}); }

std::int64_t elements_of(const Node& node) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape_of(node)) elements *= extent;
  return elements;
}

/// Places the inputs and outputs of a graph one after the other. Calls `use` with each node and its
/// byte offset, and returns the total size.
std::int64_t lay_out(const GraphData& graph, std::int64_t offset, auto use) {
  std::int64_t at = 0;
  const auto place = [&](const Node& node) {
    const std::int64_t size = size_of(node.dtype);
    use(node, at + offset * size);
    at += padded((elements_of(node) + offset) * size);
  };
  for (const InputInfo& input : graph.inputs) place(*input.node);
  for (const OutputInfo& output : graph.outputs) place(*output.node);
  return at;
}

void poison(const Array& memory, const Stream& stream) {
  const DeviceState& device = *memory.device().state();
  const CurrentContext current(device);
  check(device.driver,
        device.driver.cuMemsetD8Async(
            memory.data().pointer, std::to_integer<unsigned char>(kPoison),
            static_cast<std::size_t>(memory.bytes()), stream.state()->handle),
        "cuMemsetD8Async", "results of a benchmark");
}

/// Fills `memory` by repeating its first `known` bytes.
void repeat(const Array& memory, std::int64_t known, const Stream& stream) {
  for (std::int64_t done = known; done < memory.bytes();) {
    const std::int64_t count = std::min(done, memory.bytes() - done);
    memory.device().copy(memory.view(0, boolean, {count}), memory.view(done, boolean, {count}),
                         stream);
    done += count;
  }
}

Array bytes_of(const Array& array) { return array.view(0, boolean, {array.bytes()}); }

}  // namespace

std::int64_t CaseData::bytes_of_set(const Graph& graph, std::int64_t offset) {
  return lay_out(graph.data(), offset, [](const Node&, std::int64_t) {});
}

CaseData::CaseData(const Graph& graph, const Case& measured, int sets, const Stream& stream)
    : set_bytes_(bytes_of_set(graph, measured.offset)),
      memory_(stream.device().empty(boolean, {set_bytes_ * sets})) {
  for (const InputInfo& input : graph.data().inputs) input_names_.push_back(input.name);
  for (const OutputInfo& output : graph.data().outputs) output_names_.push_back(output.name);
  for (int set = 0; set < sets; ++set) {
    Set& arrays = sets_.emplace_back();
    lay_out(graph.data(), measured.offset, [&](const Node& node, std::int64_t at) {
      const bool is_input = arrays.inputs.size() < input_names_.size();
      (is_input ? arrays.inputs : arrays.outputs)
          .push_back(memory_.view(set * set_bytes_ + at, node.dtype, shape_of(node)));
    });
  }
  fill(measured, stream);
}

void CaseData::fill(const Case& measured, const Stream& stream) {
  const Device device = stream.device();
  poison(source(0), stream);
  const Graph small = parse(measured.small_text);
  const HostArrays values = random_inputs(small, {}, measured.seed);
  for (std::size_t i = 0; i < input_names_.size(); ++i) {
    const auto& contents = values.at(input_names_[i]).bytes();
    const Array memory = bytes_of(sets_[0].inputs[i]);
    const auto known = std::min(static_cast<std::int64_t>(contents.size()), memory.bytes());
    device.upload(memory.view(0, boolean, {known}), static_cast<const void*>(contents.data()),
                  stream);
    repeat(memory, known, stream);
  }
  for (int set = 1; set < sets(); ++set) device.copy(source(0), source(set), stream);
  stream.synchronize();
}

std::vector<Bindings> CaseData::bind(const Context& context) const {
  std::vector<Bindings> bindings;
  for (const Set& set : sets_) {
    std::vector<Binding> inputs;
    std::vector<Binding> outputs;
    for (std::size_t i = 0; i < set.inputs.size(); ++i)
      inputs.emplace_back(input_names_[i], set.inputs[i]);
    for (std::size_t i = 0; i < set.outputs.size(); ++i)
      outputs.emplace_back(output_names_[i], set.outputs[i]);
    bindings.push_back(context.bind(inputs, outputs));
  }
  return bindings;
}

std::vector<NamedArray> CaseData::arrays(int set) const {
  const Set& arrays = sets_.at(static_cast<std::size_t>(set));
  std::vector<NamedArray> named;
  for (std::size_t i = 0; i < arrays.inputs.size(); ++i)
    named.push_back({.name = input_names_[i], .array = arrays.inputs[i]});
  for (std::size_t i = 0; i < arrays.outputs.size(); ++i)
    named.push_back({.name = output_names_[i], .array = arrays.outputs[i]});
  return named;
}

std::string CaseData::unwritten(const Stream& stream) const {
  constexpr std::int64_t kLookedAt = std::int64_t{1} << 18;
  constexpr std::int64_t kPlaces = 8;
  std::vector<std::byte> seen;
  for (std::size_t i = 0; i < output_names_.size(); ++i) {
    const Array memory = bytes_of(sets_[0].outputs[i]);
    const std::int64_t width = size_of(sets_[0].outputs[i].dtype());
    const std::int64_t count = std::min(kLookedAt, memory.bytes());
    for (std::int64_t place = 0; place < kPlaces; ++place) {
      const std::int64_t at = (memory.bytes() - count) / (kPlaces - 1) * place / width * width;
      seen.resize(static_cast<std::size_t>(count));
      stream.device().download(memory.view(at, boolean, {count}), static_cast<void*>(seen.data()),
                               stream);
      stream.synchronize();
      const auto never = std::vector<std::byte>(static_cast<std::size_t>(width), kPoison);
      for (auto element = seen.begin(); element != seen.end(); element += width)
        if (std::equal(never.begin(), never.end(), element))
          return fmt::format("{}[{}]", output_names_[i], (at + (element - seen.begin())) / width);
    }
  }
  return {};
}

}  // namespace sinter::suite
