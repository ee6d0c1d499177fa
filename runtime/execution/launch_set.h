// LaunchSet: all launches of a variant with their arguments, and the arguments of each binding.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/binding/binding.h"
#include "runtime/binding/group_communicators.h"
#include "runtime/device/launch_grid.h"
#include "runtime/driver/driver.h"
#include "runtime/execution/opaque_call.h"
#include "runtime/execution/variant.h"

namespace sinter {

/// One launch. The addresses of its parameters are fixed; only the values change.
struct PreparedLaunch {
  CUlaunchConfig config{};
  LaunchAttributes attributes;  ///< `config` points to them
  CUfunction function = nullptr;
  void** parameters = nullptr;
  bool is_kernel = true;  ///< false: it is empty, or an opaque call
  bool is_empty = false;  ///< no blocks: nothing to launch
  bool changed = true;    ///< since the node of the CUDA Graph was last updated
  /// The contents of the device memory at `table_at`. Empty, at the end of the launch's arguments,
  /// if the kernel has no table or takes its values as a parameter.
  std::span<const std::uint64_t> table;
  CUdeviceptr table_at = 0;
  bool table_changed = true;     ///< since it was last copied to the device
  OpaqueLaunch* call = nullptr;  ///< a call of the user's function, in place of a kernel
};

/// Makes the opaque call of `launch` on `stream`.
void make_call(const DeviceState& device, const PreparedLaunch& launch, CUstream stream,
               HostFunctions& host_functions);
/// The same on the stream of the launch.
inline void make_call(const DeviceState& device, const PreparedLaunch& launch,
                      HostFunctions& host_functions) {
  make_call(device, launch, launch.config.hStream, host_functions);
}

/// The layout of the scratch memory of a context, for one launch set.
struct ScratchLayout {
  std::vector<std::int64_t> buffer_offsets;     ///< per program buffer; -1: bound by the caller
  std::vector<std::int64_t> workspace_offsets;  ///< per kernel; -1: none
  std::vector<std::int64_t> call_bytes;         ///< per opaque call: workspace of its function
  std::int64_t arena_bytes = 0;                 ///< temporaries, then workspaces
  std::vector<std::int64_t> ticket_offsets;     ///< per kernel, in counters; -1: none
  std::int64_t tickets = 0;                     ///< counters that must be 0 before the first launch
  std::vector<std::int64_t> table_offsets;      ///< per kernel, in bytes; -1: none
  std::int64_t table_bytes = 0;                 ///< of all tables; not shared with other sets
};

/// Lays out the temporaries, workspaces, tickets and tables of a variant for these sizes. `planner`
/// is the planner of its program. Throws UserError if a saved plan does not support the sizes.
ScratchLayout lay_out(const Variant& variant, const MemoryPlanner& planner,
                      std::span<const std::int64_t> symbols);

class LaunchSet {
 public:
  /// `communicators` must outlive it.
  LaunchSet(std::shared_ptr<const Variant> variant, const Interface& interface,
            const GroupCommunicators& communicators);
  LaunchSet(const LaunchSet&) = delete;
  LaunchSet& operator=(const LaunchSet&) = delete;

  const Variant& variant() const { return *variant_; }
  const std::shared_ptr<const Variant>& shared_variant() const { return variant_; }
  const ScratchLayout& layout() const { return layout_; }
  std::span<const std::int64_t> symbols() const { return symbols_; }
  std::span<PreparedLaunch> launches() { return launches_; }
  std::span<const PreparedLaunch> launches() const { return launches_; }
  bool has_calls() const { return !calls_.empty(); }
  bool has_collectives() const { return has_collectives_; }

  /// Computes grids, extents and the layout for new sizes. The caller must call set_scratch next.
  void set_symbols(std::span<const std::int64_t> symbols);
  /// Points temporaries, workspaces and tickets into the context's memory, and tables into this
  /// set's own.
  void set_scratch(CUdeviceptr arena, CUdeviceptr tickets, CUdeviceptr tables);
  /// Updates the arguments of the slots whose value differs from the last call.
  void set_values(std::span<const std::uint64_t> values);
  void set_stream(CUstream stream);

 private:
  struct Patch {
    std::uint32_t argument;
    std::uint32_t launch;
    int sub_buffer = -1;       ///< the sub-buffer of the bound array; -1: the whole array
    std::uint64_t offset = 0;  ///< of the sub-buffer, in bytes
  };

  void set_argument(Patch patch, std::uint64_t value) {
    std::uint64_t& argument = arguments_[patch.argument];
    if (argument == value) return;
    argument = value;
    PreparedLaunch& launch = launches_[patch.launch];
    (&argument < launch.table.data() ? launch.changed : launch.table_changed) = true;
  }
  template <class Visit>
  void for_each_argument(Visit visit) const;
  void set_sub_buffer_offsets();

  std::shared_ptr<const Variant> variant_;
  MemoryPlanner planner_;
  ScratchLayout layout_;
  std::vector<std::int64_t> symbols_;
  std::vector<PreparedLaunch> launches_;
  std::vector<std::unique_ptr<OpaqueLaunch>> calls_;  ///< in launch order
  bool has_collectives_ = false;
  /// Per launch: its parameters, then its table. Each takes 8 bytes; the driver reads as many of
  /// them as the parameter has. A parameter that is a table is not used: its value is the table.
  std::vector<std::uint64_t> arguments_;
  std::vector<void*> parameters_;  ///< the address of each argument's value
  std::vector<Patch> patches_;     ///< slot i has those from patches_[first_patch_[i]] on
  std::vector<std::uint32_t> first_patch_;
  std::vector<std::uint64_t> values_;  ///< per slot: the last value filled in
};

}  // namespace sinter
