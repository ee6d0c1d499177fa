// From names and arrays to checked values per slot: what happens to the arguments of every call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/binding/interface.h"
#include "runtime/device/device_state.h"
#include "sinter/executable.h"

namespace sinter {

/// What a caller bound to each slot, not yet checked.
struct Matched {
  std::vector<const ArrayData*> arrays;  ///< null for scalars, and views that are left out
  std::vector<const Array*> handles;     ///< the same as they were given
  std::vector<Literal> numbers;          ///< of scalars
};

/// The slot called `binding.name`, inputs before outputs, of the kind that `binding` is for. Throws
/// UserError if there is none.
int find_slot(const Interface& interface, const Binding& binding);

/// Finds the slot of each binding by its name. Callers repeat themselves, so it tries the slot
/// first that the same place in the list had in the last call.
class Matcher {
 public:
  explicit Matcher(const Interface& interface);

  /// Throws UserError on an unknown name, one that is bound twice, one that is missing, an array
  /// for a scalar or a number for an array. The answer is good until the next call.
  const Matched& match(BindingList inputs, BindingList outputs);
  /// The same for the inputs alone; the outputs' arrays are null.
  const Matched& match_inputs(BindingList inputs);

 private:
  void match_part(BindingList bindings, int first_slot, int count);
  int find_slot(const Binding& binding, std::size_t position, int first_slot, int count);
  void place(const Binding& binding, int slot);

  const Interface& interface_;
  Matched matched_;
  std::vector<std::uint64_t> seen_;  ///< per slot: the call that last bound it
  std::vector<int> last_slots_;      ///< per place in the two lists, the slot of the last call
  std::uint64_t call_ = 0;
};

/// Checked: what launches are filled in from.
struct Bound {
  std::vector<std::uint64_t> values;  ///< per slot: the pointer, or the scalar's bits
  std::vector<std::uint64_t> ids;     ///< per slot: of the Array; 0 for a scalar
  std::vector<std::int64_t> symbols;
  std::int64_t alignment = 16;  ///< of every pointer, as far as it matters
  std::vector<bool> unwritten_outputs;   ///< per output: nothing is bound to it; empty: to all
  std::uint64_t version = 0;    ///< no two different states of a process share it
};

/// Brings `bound` up to date; returns at once if nothing changed since the last call with it.
/// Throws UserError where what is bound does not fit the graph or one another.
void check_and_update(const Interface& interface, const DeviceState& device, const Matched& matched,
                      Bound& bound);

/// The sizes that follow from the inputs alone, for making outputs. Throws UserError where one does
/// not follow from them.
std::vector<std::int64_t> symbols_of_inputs(const Interface& interface, const DeviceState& device,
                                            const Matched& matched);

/// The bits of `number` in the dtype of `slot`. Throws UserError where it has no such value.
std::uint64_t scalar_bits(const Interface& interface, const Slot& slot, const Literal& number);

/// Throws UserError: `rms_norm: input x …`.
[[noreturn]] void fail_binding(const Interface& interface, const std::string& message);

}  // namespace sinter
