#include "runtime/binding/binding.h"

#include <fmt/format.h>

#include <cmath>

#include "ir/graph/node.h"
#include "ir/types/casts.h"
#include "ir/types/element.h"
#include "sinter/error.h"

namespace sinter {

namespace {

std::string names_of(const Interface& interface, int first, int count) {
  std::vector<std::string_view> names;
  for (int i = first; i < first + count; ++i)
    names.push_back(interface.slots[static_cast<std::size_t>(i)].name);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string number_text(const Literal& number) {
  if (number.kind == Literal::Kind::boolean) return number.integer ? "true" : "false";
  return decimal_text(number);
}

/// Throws UserError unless an array is bound to an array, or a number to a scalar.
void check_kind(const Interface& interface, const Slot& slot, const Binding& binding) {
  if (slot.is_array() == (binding.array != nullptr)) return;
  fail_binding(interface,
               slot.is_array()
                   ? fmt::format("{} is bound to the number {}; bind an array of {}",
                                 to_string(slot), number_text(binding.number), type_text(slot))
                   : fmt::format("{} is bound to an array; bind a number", to_string(slot)));
}

}  // namespace

int find_slot(const Interface& interface, const Binding& binding) {
  for (std::size_t i = 0; i < interface.slots.size(); ++i) {
    if (interface.slots[i].name != binding.name) continue;
    check_kind(interface, interface.slots[i], binding);
    return static_cast<int>(i);
  }
  fail_binding(interface,
               fmt::format("there is no input or output {}; there are {}", binding.name,
                           names_of(interface, 0, static_cast<int>(interface.slots.size()))));
}

void fail_binding(const Interface& interface, const std::string& message) {
  throw UserError(
      fmt::format("{}: {} (compiled at {})", interface.name, message, interface.compiled_at));
}

std::uint64_t scalar_bits(const Interface& interface, const Slot& slot, const Literal& number) {
  std::uint64_t bits = 0;
  auto* const bytes = reinterpret_cast<std::byte*>(&bits);
  if (is_floating(slot.dtype)) {
    write_real(slot.dtype, bytes, as_real(number));
    return bits;
  }
  const auto fail = [&](std::string_view wanted) {
    fail_binding(interface, fmt::format("{} is {} but bound to {}; bind {}", to_string(slot),
                                        name(slot.dtype), number_text(number), wanted));
  };
  const bool is_real = number.kind == Literal::Kind::real;
  if (is_real && (std::trunc(number.real) != number.real || std::fabs(number.real) > 0x1p62))
    fail("a whole number");
  const Wide integer = is_real ? static_cast<Wide>(number.real) : integer_of(number);
  if (integer < lowest_integer(slot.dtype) || integer > highest_integer(slot.dtype))
    fail(slot.dtype == boolean
             ? "true or false"
             : fmt::format("a number from {} to {}",
                           decimal_text(integer_literal(lowest_integer(slot.dtype))),
                           decimal_text(integer_literal(highest_integer(slot.dtype)))));
  write_integer(slot.dtype, bytes, integer);
  return bits;
}

ArgumentMatcher::ArgumentMatcher(const Interface& interface, const Weights* weights)
    : interface_(interface),
      weights_(weights),
      bound_in_call_(interface.slots.size()),
      last_slots_(interface.slots.size()) {
  matched_.arrays.resize(interface.slots.size());
  matched_.handles.resize(interface.slots.size());
  matched_.numbers.resize(interface.slots.size());
  for (std::size_t i = 0; i < last_slots_.size(); ++i) last_slots_[i] = static_cast<int>(i);
}

const MatchedArguments& ArgumentMatcher::match(BindingList inputs, BindingList outputs) {
  ++call_;
  match_part(inputs, 0, interface_.input_count);
  match_part(outputs, interface_.input_count, interface_.output_count());
  return matched_;
}

const MatchedArguments& ArgumentMatcher::match_inputs(BindingList inputs) {
  ++call_;
  match_part(inputs, 0, interface_.input_count);
  for (std::size_t i = static_cast<std::size_t>(interface_.input_count);
       i < interface_.slots.size(); ++i)
    matched_.arrays[i] = nullptr;
  return matched_;
}

const MatchedArguments& ArgumentMatcher::match_some_inputs(BindingList inputs) {
  ++call_;
  match_part(inputs, 0, interface_.input_count, /*needs_all=*/false);
  return matched_;
}

void ArgumentMatcher::match_part(BindingList bindings, int first_slot, int count, bool needs_all) {
  for (std::size_t i = 0; i < bindings.size(); ++i)
    store(bindings[i], find_slot(bindings[i], i, first_slot, count));
  if (bindings.size() == static_cast<std::size_t>(count)) return;  // all are bound
  for (int slot = first_slot; slot < first_slot + count; ++slot) {
    if (is_bound(static_cast<std::size_t>(slot)) || take_weight(static_cast<std::size_t>(slot)))
      continue;
    const Slot& missing = interface_.slots[static_cast<std::size_t>(slot)];
    if (missing.view || !needs_all) {
      matched_.arrays[static_cast<std::size_t>(slot)] = nullptr;
      matched_.handles[static_cast<std::size_t>(slot)] = nullptr;
      continue;
    }
    fail_binding(interface_, fmt::format("{} is not bound; bind {}", to_string(missing),
                                         missing.is_array() ? "an array of " + type_text(missing)
                                                            : "a number"));
  }
}

/// True if there is a weight for the slot.
bool ArgumentMatcher::take_weight(std::size_t slot) {
  if (!weights_ || slot >= weights_->arrays.size()) return false;
  const std::optional<Array>& array = weights_->arrays[slot];
  const std::optional<Literal>& number = weights_->numbers[slot];
  matched_.handles[slot] = array ? &*array : nullptr;
  matched_.arrays[slot] = array ? &array->data() : nullptr;
  matched_.numbers[slot] = number.value_or(Literal());
  return array || number;
}

int ArgumentMatcher::find_slot(const Binding& binding, std::size_t position, int first_slot,
                               int count) {
  const auto has_name = [&](int slot) {
    return interface_.slots[static_cast<std::size_t>(slot)].name == binding.name;
  };
  const std::size_t entry = static_cast<std::size_t>(first_slot) + position;
  if (position < static_cast<std::size_t>(count) && has_name(last_slots_[entry])) [[likely]]
    return last_slots_[entry];
  for (int slot = first_slot; slot < first_slot + count; ++slot) {
    if (!has_name(slot)) continue;
    if (position < static_cast<std::size_t>(count)) last_slots_[entry] = slot;
    return slot;
  }
  const bool is_input = first_slot == 0;
  fail_binding(
      interface_,
      fmt::format("there is no {} {}; the {}s are {}", is_input ? "input" : "output", binding.name,
                  is_input ? "input" : "output", names_of(interface_, first_slot, count)));
}

void ArgumentMatcher::store(const Binding& binding, int index) {
  const auto i = static_cast<std::size_t>(index);
  const Slot& slot = interface_.slots[i];
  if (is_bound(i))
    fail_binding(interface_, fmt::format("{} is bound twice; bind it once", to_string(slot)));
  bound_in_call_[i] = call_;
  check_kind(interface_, slot, binding);
  matched_.handles[i] = binding.array;
  matched_.arrays[i] = binding.array ? &binding.array->data() : nullptr;
  matched_.numbers[i] = binding.number;
}

}  // namespace sinter
