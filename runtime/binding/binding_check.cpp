// Checks that the arguments of a call fit the graph: dtypes, shapes, strides, memory and overlap.
// Derives the sizes from them.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <span>

#include "ir/shape/extent.h"
#include "ir/shape/strides.h"
#include "ir/verify/symbol_sizes.h"
#include "runtime/binding/binding.h"
#include "sinter/error.h"

namespace sinter {

namespace {

class ArgumentChecker {
 public:
  ArgumentChecker(const Interface& interface, const DeviceState& device,
                  const MatchedArguments& matched)
      : interface_(interface), device_(device), matched_(matched) {}

  void types() const {
    for_each_array([&](const Slot& slot, const ArrayData& array) {
      if (array.device != &device_)
        fail(slot, fmt::format("is on device {} but the program was compiled for {}; copy it there",
                               to_string(*array.device), to_string(device_)));
      if (array.dtype != slot.dtype)
        fail(slot, fmt::format("is {} but bound to {}; bind an array of {}", type_text(slot),
                               type_text(array), name(slot.dtype)));
      if (array.shape.size() != slot.shape.size())
        fail(slot, fmt::format("is {} but bound to {}; bind an array of rank {}", type_text(slot),
                               type_text(array), slot.shape.size()));
      if (slot.is_written && array.is_read_only)
        fail(slot, fmt::format("is written but bound to {}, which is read-only; bind a writable "
                               "array, or a copy",
                               type_text(array)));
    });
  }

  /// Solves for the symbols and checks every size against them.
  void sizes(std::vector<std::int64_t>& symbols) const {
    symbols.assign(interface_.symbols.size(), 0);
    for (const SolveStep& step : interface_.steps) solve(step, symbols);
    for (const SizeEquation& equation : interface_.equations) {
      const ArrayData* array = array_of(equation);
      if (!array || (equation.is_stride && is_stride_free(*array, equation.axis))) continue;
      const std::int64_t wanted = value_of(equation.extent, symbols);
      if (size_of(*array, equation) != wanted) fail_size(equation, *array, wanted, symbols);
    }
    for_each_array([&](const Slot& slot, const ArrayData& array) {
      if (slot.strides.empty() && !array.is_row_major)
        fail(slot,
             fmt::format("is row-major but bound to {} with strides {}; bind a row-major copy, "
                         "or record the {} with these strides",
                         type_text(array), to_string(array.strides),
                         slot.kind == Slot::Kind::input ? "input" : "output"));
      if (slot.is_written && !is_injective(array.shape, array.strides))
        fail(slot, fmt::format("is written, but is bound to {} with strides {}, which put two "
                               "elements at one address; give each its own address",
                               type_text(array), to_string(array.strides)));
    });
  }

  /// Checks for null pointers, misaligned pointers, and invalid memory that sinter does not own.
  void memory() const {
    for_each_array([&](const Slot& slot, const ArrayData& array) {
      if (array.elements == 0) return;
      if (array.pointer == 0)
        fail(slot, fmt::format("is bound to {} at a null pointer; bind device memory of {} bytes",
                               type_text(array), array.bytes));
      if (array.pointer % static_cast<CUdeviceptr>(size_of_element(slot)) != 0)
        fail(slot,
             fmt::format("is bound to {} at {:#x}, which is not a multiple of the {} bytes of an "
                         "element; align it",
                         type_text(array), array.pointer, size_of_element(slot)));
      if (!array.memory && !array.is_verified.load(std::memory_order_relaxed)) {
        verify(slot, array);
        array.is_verified.store(true, std::memory_order_relaxed);
      }
    });
  }

  /// A written array must not overlap an array of another slot.
  void overlap() const {
    for (std::size_t i = 0; i < matched_.arrays.size(); ++i) {
      const ArrayData* written = matched_.arrays[i];
      if (!written || !interface_.slots[i].is_written) continue;
      for (std::size_t k = 0; k < matched_.arrays.size(); ++k) {
        const ArrayData* other = matched_.arrays[k];
        if (!other || k == i || !overlap(*written, *other)) continue;
        fail(interface_.slots[i],
             fmt::format(
                 "is written, but its {} bytes at {:#x} overlap the {} bytes at {:#x} of {}; "
                 "bind arrays that do not overlap{}",
                 written->bytes, written->pointer, other->bytes, other->pointer,
                 to_string(interface_.slots[k]),
                 interface_.slots[i].kind == Slot::Kind::output
                     ? ", or record graph.update to write in place"
                     : ""));
      }
    }
  }

  std::int64_t alignment() const {
    CUdeviceptr all = 16;
    for (const ArrayData* array : matched_.arrays)
      if (array && array->elements > 0) all |= array->pointer;
    return static_cast<std::int64_t>(all & -all);
  }

 private:
  template <class Visit>
  void for_each_array(Visit visit) const {
    for (std::size_t i = 0; i < matched_.arrays.size(); ++i)
      if (matched_.arrays[i]) visit(interface_.slots[i], *matched_.arrays[i]);
  }

  [[noreturn]] void fail(const Slot& slot, const std::string& message) const {
    fail_binding(interface_, fmt::format("{} {}", to_string(slot), message));
  }

  const ArrayData* array_of(const SizeEquation& equation) const {
    return matched_.arrays[static_cast<std::size_t>(equation.slot)];
  }
  static int size_of_element(const Slot& slot) { return sinter::size_of(slot.dtype); }
  static std::int64_t size_of(const ArrayData& array, const SizeEquation& equation) {
    const auto axis = static_cast<std::size_t>(equation.axis);
    return equation.is_stride ? array.strides[axis] : array.shape[axis];
  }
  static bool is_stride_free(const ArrayData& array, int axis) {
    return array.shape[static_cast<std::size_t>(axis)] <= 1 || array.elements == 0;
  }

  void solve(const SolveStep& step, std::vector<std::int64_t>& symbols) const {
    const ArrayData* array = array_of(step.equation);
    const std::string& symbol = interface_.symbols[static_cast<std::size_t>(step.symbol)];
    if (!array)
      fail_binding(interface_, fmt::format("the size {} does not follow from the inputs; bind {}",
                                           symbol, to_string(slot_of(step.equation))));
    const std::int64_t size = size_of(*array, step.equation);
    const std::int64_t factor = value_of(step.factor, symbols);
    std::int64_t rest = 0;
    // Valid sizes are far from overflow. INT64_MIN / -1 is the one quotient that does not fit.
    const bool overflows = __builtin_sub_overflow(size, value_of(step.rest, symbols), &rest) ||
                           (factor == -1 && rest == std::numeric_limits<std::int64_t>::min());
    const std::int64_t value = factor == 0 || overflows ? 0 : rest / factor;
    if (overflows || value < 0 || value * factor != rest)
      fail(slot_of(step.equation),
           fmt::format("is {} but bound to {}: {} of axis {} is {}, which is not {} for any {}",
                       type_text(slot_of(step.equation)), type_text(*array),
                       step.equation.is_stride ? "the stride" : "the extent", step.equation.axis,
                       size, to_string(step.equation.extent), symbol));
    symbols[static_cast<std::size_t>(step.symbol)] = value;
  }

  static std::int64_t value_of(Extent extent, std::span<const std::int64_t> symbols) {
    return extent.is_number() ? extent.number() : evaluate(extent, symbols);
  }

  const Slot& slot_of(const SizeEquation& equation) const {
    return interface_.slots[static_cast<std::size_t>(equation.slot)];
  }

  [[noreturn]] void fail_size(const SizeEquation& equation, const ArrayData& array,
                              std::int64_t wanted, std::span<const std::int64_t> symbols) const {
    const Slot& slot = slot_of(equation);
    std::string because;
    if (!equation.extent.is_number()) {
      std::vector<std::string> sizes;
      for (const SolveStep& step : interface_.steps) {
        const std::vector<std::int64_t> unknown(symbols.size(), -1);
        const std::vector<int> used = unknown_symbols(equation.extent, unknown);
        if (std::ranges::count(used, step.symbol))
          sizes.push_back(fmt::format(
              "{} is {} by {}", interface_.symbols[static_cast<std::size_t>(step.symbol)],
              symbols[static_cast<std::size_t>(step.symbol)], to_string(slot_of(step.equation))));
      }
      because = fmt::format(", since {}", fmt::join(sizes, " and "));
    }
    fail(slot, fmt::format("is {} but bound to {}{}: {} of axis {} must be {}{}", type_text(slot),
                           type_text(array),
                           equation.is_stride ? " with strides " + to_string(array.strides) : "",
                           equation.is_stride ? "the stride" : "the extent", equation.axis, wanted,
                           because));
  }

  /// Checks with the driver that wrapped or imported memory is on the device and large enough.
  void verify(const Slot& slot, const ArrayData& array) const {
    CUdeviceptr start = 0;
    std::size_t bytes = 0;
    int ordinal = -1;
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                        CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void* values[] = {&start, &bytes, &ordinal};
    const CurrentContext current(device_);
    // The call also succeeds for memory that the driver does not know.
    sinter::check(device_.driver,
                  device_.driver.cuPointerGetAttributes(3, attributes, values, array.pointer),
                  "cuPointerGetAttributes", [&] { return "the range of " + type_text(array); });
    if (bytes == 0)
      fail(slot,
           fmt::format("is bound to {} at {:#x}, which is not memory of {}; bind device memory, or "
                       "upload the data first",
                       type_text(array), array.pointer, device_.name));
    if (ordinal >= 0 && ordinal != device_.ordinal)
      fail(slot,
           fmt::format("is bound to {} at {:#x}, which is memory of device {}, but the program "
                       "was compiled for device {}; copy it there",
                       type_text(array), array.pointer, ordinal, device_.ordinal));
    const CUdeviceptr end = start + bytes;
    if (array.pointer + static_cast<CUdeviceptr>(array.bytes) > end)
      fail(slot,
           fmt::format("is bound to {} at {:#x}, which needs {} bytes, but its memory ends after "
                       "{}; bind a larger one",
                       type_text(array), array.pointer, array.bytes, end - array.pointer));
  }

  static bool overlap(const ArrayData& a, const ArrayData& b) {
    return a.bytes > 0 && b.bytes > 0 &&
           a.pointer < b.pointer + static_cast<CUdeviceptr>(b.bytes) &&
           b.pointer < a.pointer + static_cast<CUdeviceptr>(a.bytes);
  }

  const Interface& interface_;
  const DeviceState& device_;
  const MatchedArguments& matched_;
};

/// True for outputs without an array; empty if all have one.
std::vector<bool> unwritten_outputs(const Interface& interface, const MatchedArguments& matched) {
  std::vector<bool> result;
  for (std::size_t i = static_cast<std::size_t>(interface.input_count); i < matched.arrays.size();
       ++i)
    result.push_back(!matched.arrays[i]);
  if (std::ranges::none_of(result, std::identity())) result.clear();
  return result;
}

std::uint64_t next_version() {
  static std::atomic<std::uint64_t> version = 1;
  return version.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void check_and_update(const Interface& interface, const DeviceState& device,
                      const MatchedArguments& matched, CheckedArguments& bound) {
  const std::size_t slots = interface.slots.size();
  bool arrays_changed = bound.ids.size() != slots;
  bool numbers_changed = false;
  bound.ids.resize(slots);
  bound.values.resize(slots);
  // Check all numbers before changing `bound`, so that a call that throws changes nothing.
  for (std::size_t i = 0; i < slots; ++i)
    if (!interface.slots[i].is_array())
      scalar_bits(interface, interface.slots[i], matched.numbers[i]);
  for (std::size_t i = 0; i < slots; ++i) {
    if (interface.slots[i].is_array()) {
      const ArrayData* array = matched.arrays[i];
      arrays_changed = arrays_changed || bound.ids[i] != (array ? array->id : 0);
      continue;
    }
    const std::uint64_t bits = scalar_bits(interface, interface.slots[i], matched.numbers[i]);
    numbers_changed = numbers_changed || bound.values[i] != bits;
    bound.values[i] = bits;
  }
  if (arrays_changed) {
    const ArgumentChecker checker(interface, device, matched);
    bound.ids.clear();  // if a check throws, the next call must check again
    checker.types();
    checker.sizes(bound.symbols);
    checker.memory();
    checker.overlap();
    bound.alignment = checker.alignment();
    bound.unwritten_outputs = unwritten_outputs(interface, matched);
    bound.ids.resize(slots);
    for (std::size_t i = 0; i < slots; ++i) {
      if (!matched.arrays[i]) continue;
      bound.ids[i] = matched.arrays[i]->id;
      bound.values[i] = matched.arrays[i]->pointer;
    }
  }
  if (arrays_changed || numbers_changed) bound.version = next_version();
}

void check_some(const Interface& interface, const DeviceState& device,
                const MatchedArguments& matched) {
  std::vector<bool> is_given;
  for (const ArrayData* array : matched.arrays) is_given.push_back(array != nullptr);
  const Interface part = restricted_to(interface, is_given);
  const ArgumentChecker checker(part, device, matched);
  std::vector<std::int64_t> symbols;
  checker.types();
  checker.sizes(symbols);
  checker.memory();
  checker.overlap();
}

std::vector<std::int64_t> symbols_of_inputs(const Interface& interface, const DeviceState& device,
                                            const MatchedArguments& matched) {
  const ArgumentChecker checker(interface, device, matched);
  std::vector<std::int64_t> symbols;
  checker.types();
  checker.sizes(symbols);
  return symbols;
}

}  // namespace sinter
