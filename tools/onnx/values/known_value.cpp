#include "tools/onnx/values/known_value.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter::onnx {

bool KnownValue::is_fixed() const { return std::ranges::all_of(items, &Number::is_fixed); }

std::optional<KnownValue> known_value_of(const HostArray& array) {
  if (array.size() > kMostKnown) return std::nullopt;
  KnownValue value{.dtype = array.dtype(), .shape = {array.shape().begin(), array.shape().end()}};
  for (std::int64_t i = 0; i < array.size(); ++i) {
    if (is_floating(array.dtype())) {
      value.items.push_back(Number::of_real(array.real_at(i)));
      continue;
    }
    const std::int64_t number = array.integer_at(i);
    if (array.dtype() == u64 && number < 0) return std::nullopt;
    value.items.push_back(Number::of(number));
  }
  return value;
}

HostArray array_of(const KnownValue& value) {
  HostArray array(value.dtype, value.shape);
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const auto offset = static_cast<std::int64_t>(i);
    if (is_floating(value.dtype))
      array.set_real_at(offset, value.items[i].as_real());
    else
      array.set_integer_at(offset, value.items[i].extent.number());
  }
  return array;
}

KnownValue vector_of(std::span<const Extent> extents) {
  KnownValue value{.dtype = i64, .shape = {static_cast<std::int64_t>(extents.size())}};
  for (const Extent extent : extents) value.items.push_back(Number::of(extent));
  return value;
}

std::string text_of(const KnownValue& value) {
  constexpr std::size_t kMostShown = 8;
  std::vector<std::string> texts;
  for (const Number& item : value.items) {
    if (texts.size() == kMostShown) {
      texts.emplace_back("…");
      break;
    }
    texts.push_back(item.is_real ? fmt::format("{}", item.real) : to_string(item.extent));
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

}  // namespace sinter::onnx
