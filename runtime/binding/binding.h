// Binding: matches the arguments of a call to slots by name, and checks them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/binding/interface.h"
#include "runtime/binding/weights.h"
#include "runtime/device/device_state.h"
#include "sinter/executable.h"

namespace sinter {

/// The arguments of a call per slot, not checked yet.
struct MatchedArguments {
  std::vector<const ArrayData*> arrays;  ///< null for scalars and for unbound views
  std::vector<const Array*> handles;     ///< the caller's handles of these arrays
  std::vector<Literal> numbers;          ///< of scalars
};

/// The index of the slot called `binding.name`, inputs before outputs. Throws UserError if there is
/// none, or if an array is bound to a scalar or a number to an array.
int find_slot(const Interface& interface, const Binding& binding);

/// Finds the slot of each binding by its name. Calls usually repeat, so it first tries the slot
/// that the same position in the list had in the last call.
class ArgumentMatcher {
 public:
  /// `weights`, which may be null, serve inputs that a call leaves unbound.
  ArgumentMatcher(const Interface& interface, const Weights* weights);

  /// Throws UserError for a name that is unknown, bound twice or missing. Also throws UserError if
  /// an array is bound to a scalar or a number to an array. The result is valid until the next
  /// call.
  const MatchedArguments& match(BindingList inputs, BindingList outputs);
  /// The same for the inputs only; the arrays of the outputs are null.
  const MatchedArguments& match_inputs(BindingList inputs);
  /// The same for some of the inputs; the arrays of the others are null.
  const MatchedArguments& match_some_inputs(BindingList inputs);
  /// True if the last call bound the slot itself.
  bool is_bound(std::size_t slot) const { return bound_in_call_[slot] == call_; }

 private:
  void match_part(BindingList bindings, int first_slot, int count, bool needs_all = true);
  bool take_weight(std::size_t slot);
  int find_slot(const Binding& binding, std::size_t position, int first_slot, int count);
  void store(const Binding& binding, int slot);

  const Interface& interface_;
  const Weights* const weights_;
  MatchedArguments matched_;
  std::vector<std::uint64_t> bound_in_call_;  ///< per slot: the call that last bound it
  std::vector<int> last_slots_;  ///< per position in the two lists: the slot in the last call
  std::uint64_t call_ = 0;
};

/// Checked arguments of a call. Launches take their values from here.
struct CheckedArguments {
  std::vector<std::uint64_t> values;  ///< per slot: the pointer, or the scalar's bits
  std::vector<std::uint64_t> ids;     ///< per slot: ArrayData::id; 0 for a scalar
  std::vector<std::int64_t> symbols;
  std::int64_t alignment = 16;          ///< of every pointer in bytes, at most 16
  std::vector<bool> unwritten_outputs;  ///< per output: it is not bound; empty: all are
  std::uint64_t version = 0;            ///< unique for each state in the process
};

/// Updates `bound`. Returns at once if nothing has changed since the last call with it. Throws
/// UserError if an argument does not fit the graph or another argument.
void check_and_update(const Interface& interface, const DeviceState& device,
                      const MatchedArguments& matched, CheckedArguments& bound);

/// Checks the arrays of `matched` as far as possible without those that are null.
void check_some(const Interface& interface, const DeviceState& device,
                const MatchedArguments& matched);

/// The sizes that follow from the inputs, for allocating the outputs. Throws UserError if a size
/// does not follow from the inputs.
std::vector<std::int64_t> symbols_of_inputs(const Interface& interface, const DeviceState& device,
                                            const MatchedArguments& matched);

/// The bits of `number` in the dtype of `slot`; floating dtypes round it. Throws UserError if an
/// integer or boolean dtype cannot represent it.
std::uint64_t scalar_bits(const Interface& interface, const Slot& slot, const Literal& number);

/// Throws UserError with the name of the graph and the location of compile: `rms_norm: input x …`.
[[noreturn]] void fail_binding(const Interface& interface, const std::string& message);

}  // namespace sinter
