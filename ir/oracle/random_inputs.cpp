// Generates random input arrays from a hash of seed, input name and element index.
#include "ir/oracle/random_inputs.h"

#include "ir/shape/extent.h"
#include "ir/shape/strided_iterator.h"
#include "ir/types/half.h"
#include "sinter/error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinter {

namespace {

/// SplitMix64's output function: a bijection whose outputs for 0, 1, 2, … look random.
std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint64_t key_of(std::uint64_t seed, std::string_view name) {
  std::uint64_t key = splitmix64(seed);
  for (const char letter : name) key = splitmix64(key ^ static_cast<unsigned char>(letter));
  return key;
}

/// By node id: the smallest extent of an axis that the elements of the value index; the largest
/// int64 if they index none. Indices are traced through structural ops and selections, not through
/// arithmetic.
std::vector<std::int64_t> indexed_extents(const GraphData& graph,
                                          std::span<const std::int64_t> symbols) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> extents(graph.nodes.size(), kNone);
  const auto narrow = [&](const Node* node, std::int64_t extent) {
    extents[node->id] = std::min(extents[node->id], extent);
  };
  for (std::size_t id = graph.nodes.size(); id-- > 0;) {
    const Node& node = *graph.nodes[id];
    const bool is_gather = node.op == Op::take || node.op == Op::take_along_axis;
    const bool chooses = node.op == Op::where || node.op == Op::maximum || node.op == Op::minimum;
    if (node.op == Op::scatter) {
      narrow(node.operand(1), evaluate(node.operand(0)->shape[0], symbols));
    } else if (is_gather) {
      const auto axis = static_cast<std::size_t>(attribute(node, "axis").integer);
      narrow(node.operand(1), evaluate(node.operand(0)->shape[axis], symbols));
      narrow(node.operand(0), extents[id]);
    } else if (is_structural(node.op) || chooses) {
      for (const Node* operand : node.operands) narrow(operand, extents[id]);
    }
  }
  return extents;
}

struct IntegerRange {
  std::int64_t low;
  std::int64_t high;
};

IntegerRange integer_range(const InputInfo& input, std::int64_t indexed) {
  constexpr std::int64_t kSmall = 8;
  IntegerRange range{.low = -kSmall, .high = kSmall};
  if (input.node->dtype == boolean) range = {.low = 0, .high = 1};
  if (indexed != std::numeric_limits<std::int64_t>::max())
    range = {.low = 0, .high = std::max<std::int64_t>(indexed - 1, 0)};
  if (input.low) range.low = static_cast<std::int64_t>(std::ceil(*input.low));
  if (input.high) range.high = static_cast<std::int64_t>(std::floor(*input.high));
  range.high = std::max(range.low, range.high);
  return range;
}

void fill_padding(HostArray& array) {
  // All bits set is a NaN in every floating dtype; a bool must stay 0 or 1.
  const int byte = array.dtype() == boolean ? 0x01 : is_integer(array.dtype()) ? 0x6e : 0xff;
  std::ranges::fill(array.bytes(), static_cast<std::byte>(byte));
}

/// Calls `fill(number, offset)` for each element: its row-major number and its place.
template <class Fill>
void for_each_place(const HostArray& array, Fill fill) {
  if (std::ranges::equal(array.strides(), row_major(array.shape()))) {
    for (std::int64_t i = 0; i < array.size(); ++i) fill(i, i);
    return;
  }
  StridedIterator iterator(array.shape(), {{array.strides().begin(), array.strides().end()}});
  for (std::int64_t i = 0; i < array.size(); ++i, iterator.next()) fill(i, iterator.offset(0));
}

void fill_integers(HostArray& array, std::uint64_t key, IntegerRange range) {
  const auto count =
      static_cast<std::uint64_t>(range.high) - static_cast<std::uint64_t>(range.low) + 1;
  for_each_place(array, [&](std::int64_t number, std::int64_t offset) {
    const std::uint64_t random = splitmix64(key + static_cast<std::uint64_t>(number));
    // A range of all 2^64 numbers has a count of 0.
    const std::uint64_t step = count == 0 ? random : random % count;
    array.set_integer_at(offset,
                         static_cast<std::int64_t>(static_cast<std::uint64_t>(range.low) + step));
  });
}

void fill_reals(HostArray& array, std::uint64_t key, double low, double high) {
  const auto value = [&](std::int64_t number) {
    const std::uint64_t random = splitmix64(key + static_cast<std::uint64_t>(number));
    const double fraction = static_cast<double>(random >> 11) * 0x1p-53;
    return low + (high - low) * fraction;
  };
  const auto fill_as = [&](auto encode) {
    std::byte* const bytes = array.bytes().data();
    for_each_place(array, [&](std::int64_t number, std::int64_t offset) {
      const auto element = encode(value(number));
      std::memcpy(bytes + offset * std::int64_t{sizeof element}, &element, sizeof element);
    });
  };
  // Graphs of models have inputs of 100 million elements, so the usual dtypes have their own loops.
  switch (array.dtype()) {
    case DType::f16: return fill_as([](double real) { return f16_bits(real); });
    case DType::bf16: return fill_as([](double real) { return bf16_bits(real); });
    case DType::f32: return fill_as([](double real) { return static_cast<float>(real); });
    case DType::f64: return fill_as([](double real) { return real; });
    default:
      for_each_place(array, [&](std::int64_t number, std::int64_t offset) {
        array.set_real_at(offset, value(number));
      });
  }
}

HostArray allocate(const InputInfo& input, std::span<const std::int64_t> symbols) {
  const Node& node = *input.node;
  std::vector<std::int64_t> strides;
  if (node.op == Op::input) strides = evaluate_all(attribute(node, "strides").extents, symbols);
  const std::vector<std::int64_t> shape = evaluate_all(node.shape, symbols);
  const auto fail = [&] {
    return UserError(fmt::format("input {}: {}[{}] does not fit in memory; choose smaller sizes",
                                 input.name, name(node.dtype), fmt::join(shape, ", ")));
  };
  try {
    return HostArray(node.dtype, shape, std::move(strides));
  } catch (const std::bad_alloc&) {
    throw fail();
  } catch (const std::length_error&) {  // more than any machine has
    throw fail();
  }
}

}  // namespace

HostArrays random_inputs(const GraphData& graph, std::span<const std::int64_t> symbols,
                         std::uint64_t seed, std::span<const std::string> without) {
  const std::vector<std::int64_t> indexed = indexed_extents(graph, symbols);
  HostArrays arrays;
  for (const InputInfo& input : graph.inputs) {
    if (std::ranges::count(without, input.name)) continue;
    const Node& node = *input.node;
    HostArray array = allocate(input, symbols);
    fill_padding(array);
    const std::uint64_t key = key_of(seed, input.name);
    if (is_floating(node.dtype))
      fill_reals(array, key, input.low.value_or(-2), input.high.value_or(2));
    else
      fill_integers(array, key, integer_range(input, indexed[node.id]));
    arrays.emplace(input.name, std::move(array));
  }
  return arrays;
}

}  // namespace sinter
