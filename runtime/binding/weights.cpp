#include "runtime/binding/weights.h"

#include "runtime/binding/binding.h"

namespace sinter {

std::shared_ptr<const Weights> bind_weights(const Interface& interface, const DeviceState& device,
                                            const Weights* before, BindingList inputs) {
  ArgumentMatcher matcher(interface, before);
  const MatchedArguments& matched = matcher.match_some_inputs(inputs);
  check_some(interface, device, matched);
  auto weights = before ? std::make_shared<Weights>(*before) : std::make_shared<Weights>();
  const auto count = static_cast<std::size_t>(interface.input_count);
  weights->arrays.resize(count);
  weights->numbers.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!matcher.is_bound(i)) continue;
    if (interface.slots[i].is_array()) {
      weights->arrays[i] = *matched.handles[i];
      continue;
    }
    scalar_bits(interface, interface.slots[i], matched.numbers[i]);  // throws for a wrong number
    weights->numbers[i] = matched.numbers[i];
  }
  return weights;
}

}  // namespace sinter
