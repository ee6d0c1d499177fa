#include "tools/onnx/node/call.h"

#include "ir/record/record.h"
#include "sinter/error.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::onnx {

Call::Call(const NodeProto& node, std::vector<ValueRef> inputs, const FunctionAttributes* outer,
           std::int64_t opset, Recording& recording, const std::filesystem::path& folder)
    : node_(node),
      inputs_(std::move(inputs)),
      attributes_(node, outer),
      opset_(opset),
      recording_(recording),
      folder_(folder) {
  while (!inputs_.empty() && !inputs_.back()) inputs_.pop_back();
}

Tensor Call::size_value(Extent extent, DType dtype) const {
  if (extent.is_number()) return full(graph(), {}, extent.number(), dtype);
  return record_size(graph().data(), extent, dtype, /*location=*/{});
}

const Value& Call::input(std::size_t i) const {
  if (!has_input(i)) refuse(fmt::format("input {} is missing", i));
  return *inputs_[i];
}

DType Call::dtype(std::size_t i) const {
  const Value& value = input(i);
  if (value.array) return value.array->dtype();
  return value.known ? value.known->dtype : value.tensor.dtype();
}

std::vector<Extent> Call::shape(std::size_t i) const {
  const Value& value = input(i);
  if (value.array) return {value.array->shape().begin(), value.array->shape().end()};
  if (value.known) return {value.known->shape.begin(), value.known->shape.end()};
  return {value.tensor.shape().begin(), value.tensor.shape().end()};
}

Tensor Call::tensor(std::size_t i) const {
  input(i);
  return recording_.tensor(*inputs_[i]);
}

Tensor Call::optional_tensor(std::size_t i) const { return has_input(i) ? tensor(i) : Tensor(); }

Operand Call::operand(std::size_t i, int rank) const {
  const KnownValue* const value = known(i);
  if (!value || value->items.size() != 1 || value->rank() > rank || !value->is_fixed() ||
      input(i).is_default)
    return tensor(i);
  const Number& number = value->items[0];
  if (value->dtype == boolean) return number.extent.number() != 0;
  if (is_floating(value->dtype)) return number.as_real();
  return number.extent.number();
}

std::vector<Tensor> Call::tensors(std::size_t first) const {
  std::vector<Tensor> result;
  for (std::size_t i = first; i < inputs_.size(); ++i) result.push_back(tensor(i));
  return result;
}

std::string Call::table_name(std::string_view what) const {
  return fmt::format("{}_{}", node_.output.empty() ? node_.op_type : node_.output[0], what);
}

Tensor Call::constant(std::string_view name, HostArray array) const {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;
  recording_.table_bytes += static_cast<std::int64_t>(array.bytes().size());
  if (recording_.table_bytes > kMostBytes)
    refuse("the tables that sinter computes for the model have more than 2^30 bytes");
  Value value{.array = std::make_shared<const HostArray>(std::move(array))};
  value.name = name;
  return recording_.tensor(value);
}

Call::RandomStream Call::random_stream() const {
  const std::int64_t offset = recording_.random_draws++;
  if (!attributes_.has("seed")) return {recording_.random_seed(), offset};
  // Dropout has an integer. Other seeds are reals, of which any two are different bits.
  const bool is_integer =
      attributes_.find("seed")->type == static_cast<std::int32_t>(AttributeType::integer);
  const std::int64_t seed = is_integer ? attributes_.integer("seed")
                                       : std::bit_cast<std::int64_t>(attributes_.real("seed", 0));
  return {full(graph(), {}, seed, i64), offset};
}

const KnownValue* Call::known(std::size_t i) const {
  return has_input(i) ? known_contents(*inputs_[i]) : nullptr;
}

std::string Call::described(std::size_t i, std::string_view what) const {
  return fmt::format("input '{}' ({})", shown_name(input(i).name), what);
}

const KnownValue& Call::known(std::size_t i, std::string_view what) const {
  if (const KnownValue* const found = known(i)) return *found;
  refuse(
      fmt::format("{} is computed at run time; it must be a constant, or follow from the shapes of "
                  "inputs",
                  described(i, what)));
}

std::vector<Extent> Call::extents(std::size_t i, std::string_view what) const {
  const KnownValue& value = known(i, what);
  if (value.rank() > 1 || !is_integer(value.dtype))
    refuse(fmt::format("{} is {}[{}]; it must be a vector of integers", described(i, what),
                       name(value.dtype), fmt::join(value.shape, ", ")));
  std::vector<Extent> result;
  for (const Number& item : value.items) result.push_back(item.extent);
  return result;
}

std::vector<std::int64_t> Call::integers(std::size_t i, std::string_view what) const {
  std::vector<std::int64_t> result;
  for (const Extent extent : extents(i, what)) {
    if (!extent.is_number())
      refuse(fmt::format("{} depends on the symbols in {}; give their sizes with --dim",
                         described(i, what), to_string(extent)));
    result.push_back(extent.number());
  }
  return result;
}

std::int64_t Call::integer(std::size_t i, std::string_view what) const {
  const KnownValue& value = known(i, what);
  if (value.items.size() != 1 || !value.items[0].is_integer())
    refuse(fmt::format("{} is {}; it must be one integer", described(i, what), text_of(value)));
  return value.items[0].extent.number();
}

double Call::real(std::size_t i, std::string_view what) const {
  const KnownValue& value = known(i, what);
  if (value.items.size() != 1 || !value.items[0].is_fixed())
    refuse(fmt::format("{} is {}; it must be one number", described(i, what), text_of(value)));
  return value.items[0].as_real();
}

int checked_axis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    refuse(fmt::format("axis {} is out of range for rank {}", axis, rank));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<std::int64_t> checked_axes(std::span<const std::int64_t> axes, int rank) {
  std::vector<std::int64_t> result;
  for (const std::int64_t axis : axes) {
    const int checked = checked_axis(axis, rank);
    if (std::ranges::count(result, checked) > 0)
      refuse(fmt::format("axis {} is given twice", checked));
    result.push_back(checked);
  }
  return result;
}

void refuse(std::string problem) { throw UserError(problem); }

}  // namespace sinter::onnx
