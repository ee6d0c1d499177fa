// Draft: an operation whose registers are virtual, before its place and its registers are final.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "tests/virtual_gpu/isa/semantics.h"
#include "tests/virtual_gpu/program/decode.h"
#include "tests/virtual_gpu/program/handlers.h"
#include "tests/virtual_gpu/program/program.h"

namespace sinter::virtual_gpu {

/// A virtual register `i` is the slot kVirtual + i until registers are allocated.
inline constexpr Slot kVirtual = 1 << 30;
inline bool is_virtual(Slot slot) { return slot >= kVirtual; }

struct Draft {
  Operation operation;
  Details* details = nullptr;  ///< also in `operation.details`
  InstructionClass kind = InstructionClass::arithmetic;
  bool ends_block = false;                 ///< a branch or an exit
  bool falls_through = true;               ///< execution may continue behind it
  std::vector<std::int32_t> targets = {};  ///< of a branch: labels of DraftKernel, later drafts
};

/// A kernel while it is decoded.
struct DraftKernel {
  Kernel kernel;
  std::vector<Draft> drafts;
  std::vector<Width> widths;         ///< of each virtual register
  std::vector<std::int32_t> labels;  ///< label -> draft; -1 while it is unknown

  std::int32_t new_label() {
    labels.push_back(-1);
    return static_cast<std::int32_t>(labels.size()) - 1;
  }
  void place_label(std::int32_t label) {
    labels[static_cast<std::size_t>(label)] = static_cast<std::int32_t>(drafts.size());
  }
  Slot new_register(Width width) {
    widths.push_back(width);
    return kVirtual + static_cast<Slot>(widths.size()) - 1;
  }
  /// The slot of an immediate. Equal ones share it.
  Slot constant(Width width, std::uint64_t bits);
  /// The slot of a special register; throws PtxError if it is unknown.
  Slot special_register(std::string_view name, int line);
  Details& new_details(Draft& draft);

  std::map<std::pair<Width, std::uint64_t>, Slot> constants;
  std::map<std::string_view, Slot> special;
};

/// Calls `visit(slot, is_result)` for every register of the draft.
template <class Visit>
void for_each_register(Draft& draft, Visit&& visit) {
  Operation& operation = draft.operation;
  const auto see = [&](Slot& slot, bool is_result) {
    if (slot != kNoSlot && is_virtual(slot)) visit(slot, is_result);
  };
  see(operation.guard, false);
  for (Slot& slot : operation.operands) see(slot, false);
  if (draft.details) {
    see(draft.details->address, false);
    for (AddressOperand& address : draft.details->addresses) see(address.base, false);
    for (Slot& slot : draft.details->data) see(slot, draft.details->data_is_result);
  }
  if (draft.details)
    for (Slot& slot : draft.details->old_values) see(slot, true);
  for (Slot& slot : operation.results) see(slot, true);
}

/// A sequence of drafts that only its last one leaves.
struct BasicBlock {
  std::size_t begin = 0, end = 0;
  std::vector<std::size_t> successors = {};
  std::optional<std::size_t> next = {};  ///< the block behind it, if execution may continue there
};
/// The blocks in the order of the drafts. `targets` must be positions of drafts.
std::vector<BasicBlock> find_blocks(const std::vector<Draft>& drafts);

/// Appends the drafts of a kernel; calls are inlined (inline_calls.cpp).
void append_function(DraftKernel& draft, const ptx::Module& module, const ptx::Function& entry,
                     const AddressOf& address_of);

/// Puts the drafts in an order in which lanes that diverge meet again as early as possible, if
/// lanes with the lowest position run first. Adds branches where blocks are no longer adjacent, and
/// resolves targets to positions (control_flow.cpp).
void order_blocks(DraftKernel& draft);

/// Replaces virtual registers by places (allocate_registers.cpp).
void allocate_registers(DraftKernel& draft);

}  // namespace sinter::virtual_gpu
