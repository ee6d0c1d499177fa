// Weights: the arrays and numbers of an executable for inputs that a call leaves unbound.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/binding/interface.h"
#include "runtime/device/device_state.h"
#include "sinter/executable.h"

namespace sinter {

struct Weights {
  std::vector<std::optional<Array>> arrays;     ///< per input
  std::vector<std::optional<Literal>> numbers;  ///< per input
};

/// The weights `before`, which may be null, with `inputs` added or in their place. Throws UserError
/// if one does not fit the graph or another one.
std::shared_ptr<const Weights> bind_weights(const Interface& interface, const DeviceState& device,
                                            const Weights* before, BindingList inputs);

}  // namespace sinter
