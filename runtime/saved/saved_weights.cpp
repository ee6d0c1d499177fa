#include "runtime/saved/saved_weights.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/graph/node.h"
#include "ir/support/round_up.h"
#include "runtime/device/external_memory.h"
#include "runtime/driver/capture_mode_guard.h"
#include "runtime/saved/saved_fields.h"
#include "runtime/support/archive.h"
#include "sinter/error.h"

namespace sinter {

namespace {

[[noreturn]] void fail_table(const SavedWeight& weight, const std::string& what) {
  throw InvalidData{fmt::format("{} {}", weight.input, what)};
}

void check_type(const SavedWeight& weight, const Node& input) {
  if (weight.is_number != (input.op == Op::scalar))
    fail_table(weight, weight.is_number ? "is a number for an array" : "is an array for a scalar");
  if (weight.dtype != input.dtype)
    fail_table(weight, fmt::format("is {} instead of {}", name(weight.dtype), name(input.dtype)));
  if (!weight.is_number && weight.shape.size() != input.shape.size())
    fail_table(weight,
               fmt::format("has rank {} instead of {}", weight.shape.size(), input.shape.size()));
}

/// The strides are those that the graph declares, as far as it declares numbers.
void check_strides(const SavedWeight& weight, const Node& input) {
  if (weight.strides.empty()) return;
  const std::span<const Extent> declared = attribute(input, "strides").extents;
  bool fits = weight.strides.size() == declared.size();
  for (std::size_t axis = 0; fits && axis < declared.size(); ++axis) {
    const std::int64_t stride = weight.strides[axis];
    const bool is_free = weight.shape[axis] <= 1 || !declared[axis].is_number();
    fits = stride >= 0 && (is_free || declared[axis].number() == stride);
  }
  if (!fits)
    fail_table(weight, fmt::format("has the strides {}, which the graph does not declare",
                                   to_string(weight.strides)));
}

/// The bytes of the row-major elements; -1 if the shape is invalid.
std::int64_t bytes_of_shape(const SavedWeight& weight) {
  std::int64_t bytes = size_of(weight.dtype);
  bool is_valid = true;
  for (const std::int64_t extent : weight.shape)
    is_valid = is_valid && extent >= 0 && !__builtin_mul_overflow(bytes, extent, &bytes);
  return is_valid ? bytes : -1;
}

/// Memory of the host device that is a part of `file`, which it keeps mapped.
std::shared_ptr<const ExternalMemory> lend_mapping(DeviceState& device,
                                                   std::span<const std::byte> part,
                                                   const std::shared_ptr<const MappedFile>& file) {
  using Reference = std::shared_ptr<const MappedFile>;
  ManagedTensorOwner owner(new Reference(file),
                           [](void* reference) { delete static_cast<Reference*>(reference); });
  return share_external(device, reinterpret_cast<CUdeviceptr>(part.data()),
                        static_cast<std::int64_t>(part.size()),
                        {.type = dlpack::DeviceType::cpu, .id = 0}, std::move(owner));
}

/// Makes the arrays of saved weights.
class WeightLoader {
 public:
  WeightLoader(const SavedWeights& weights, std::shared_ptr<const MappedFile> file, Device device)
      : weights_(weights), file_(std::move(file)), device_(device), stream_(device.stream()) {}

  Array load(const SavedWeight& weight, const Slot& slot) {
    return device_.is_host() && !slot.is_written && weight.strides.empty() ? view_of(weight)
                                                                           : copy_of(weight, slot);
  }
  void wait() const { stream_.synchronize(); }

 private:
  Array view_of(const SavedWeight& weight) {
    if (!mapping_) mapping_ = lend_mapping(*device_.state(), weights_.data, file_);
    const std::span<const std::byte> elements = weights_.elements_of(weight);
    const auto data =
        make_array_data("load", device_.state(), reinterpret_cast<CUdeviceptr>(elements.data()),
                        weight.dtype, weight.shape, /*strides=*/{});
    data->external = mapping_;
    data->is_read_only = true;
    return array_of(data);
  }

  /// Read-only unless the program updates it, as on the host device.
  Array copy_of(const SavedWeight& weight, const Slot& slot) const {
    const Array array = upload_strided(stream_, weights_.elements_of(weight).data(), weight.dtype,
                                       weight.shape, weight.strides);
    return slot.is_written ? array : array.read_only();
  }

  const SavedWeights& weights_;
  const std::shared_ptr<const MappedFile> file_;
  const Device device_;
  const Stream stream_;
  std::shared_ptr<const ExternalMemory> mapping_;  ///< of all elements; null before its first use
};

}  // namespace

std::vector<std::byte> pack(const SavedWeights& weights) {
  ArchiveWriter writer;
  writer(weights.table);
  return writer.take();
}

std::vector<SavedSection> weight_sections(const Weights& weights, const Interface& interface,
                                          Device device) {
  SavedWeights saved;
  SavedSection data{.kind = kWeightDataSection};
  std::int64_t end = 0;
  const Stream stream = device.stream();
  for (std::size_t i = 0; i < weights.arrays.size(); ++i) {
    const std::optional<Array>& array = weights.arrays[i];
    const Slot& slot = interface.slots[i];
    SavedWeight weight{.input = slot.name, .dtype = slot.dtype};
    if (weights.numbers[i]) {
      weight.is_number = true;
      weight.number = *weights.numbers[i];
    } else if (array) {
      weight.shape.assign(array->shape().begin(), array->shape().end());
      if (!array->is_row_major())
        weight.strides.assign(array->strides().begin(), array->strides().end());
      weight.offset = round_up(end, kSavedAlignment);
      weight.bytes = bytes_of_shape(weight);
      end = weight.offset + weight.bytes;
      data.blocks.emplace_back([device, stream, array = *array, bytes = weight.bytes] {
        std::vector<std::byte> elements(static_cast<std::size_t>(bytes));
        device.download(array, static_cast<void*>(elements.data()), stream);
        stream.synchronize();
        return elements;
      });
    } else {
      continue;
    }
    saved.table.push_back(std::move(weight));
  }
  return {{.kind = kWeightsSection, .bytes = pack(saved)}, std::move(data)};
}

SavedWeights unpack_weights(std::span<const std::byte> table, std::span<const std::byte> data,
                            const Graph& graph) {
  SavedWeights weights{.data = data};
  ArchiveReader reader(table);
  reader(weights.table);
  reader.finish();
  const std::vector<InputInfo>& inputs = graph.data().inputs;
  auto next = inputs.begin();
  std::int64_t end = 0;
  for (const SavedWeight& weight : weights.table) {
    next = std::find_if(next, inputs.end(),
                        [&](const InputInfo& input) { return input.name == weight.input; });
    if (next == inputs.end()) fail_table(weight, "is no input of the graph, or out of order");
    check_type(weight, *next->node);
    if (!weight.is_number) check_strides(weight, *next->node);
    ++next;
    if (weight.is_number) continue;
    const std::int64_t begin = round_up(end, kSavedAlignment);
    if (weight.bytes < 0 || weight.bytes != bytes_of_shape(weight))
      fail_table(weight, fmt::format("has {} bytes, but its shape is {}", weight.bytes,
                                     to_string(weight.shape)));
    if (weight.offset != begin)
      fail_table(weight, fmt::format("begins at byte {} instead of {}", weight.offset, begin));
    const auto size = static_cast<std::int64_t>(data.size());
    if (begin > size || weight.bytes > size - begin)
      fail_table(weight, fmt::format("has {} bytes from byte {} on, but the section of all weights "
                                     "has {}",
                                     weight.bytes, begin, size));
    end = begin + weight.bytes;
  }
  if (end != static_cast<std::int64_t>(data.size()))
    throw InvalidData{fmt::format("the last one ends at byte {} of {}", end, data.size())};
  return weights;
}

std::shared_ptr<const Weights> load_weights(const SavedWeights& weights,
                                            const std::shared_ptr<const MappedFile>& file,
                                            const Interface& interface, Device device) {
  if (weights.table.empty()) return nullptr;
  const CaptureModeGuard relaxed(device.state()->driver);
  WeightLoader loader(weights, file, device);
  std::vector<Array> arrays;
  arrays.reserve(weights.table.size());  // the bindings refer to them
  std::vector<Binding> bindings;
  auto slot = interface.slots.begin();
  for (const SavedWeight& weight : weights.table) {
    slot = std::ranges::find(slot, interface.slots.end(), weight.input, &Slot::name);
    if (weight.is_number)
      bindings.emplace_back(weight.input, 0).number = weight.number;
    else
      bindings.emplace_back(weight.input, arrays.emplace_back(loader.load(weight, *slot)));
  }
  loader.wait();
  return bind_weights(interface, *device.state(), /*before=*/nullptr, bindings);
}

}  // namespace sinter
