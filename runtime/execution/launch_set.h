// LaunchSet: every launch of a variant with its arguments laid out, and where each binding goes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/binding/binding.h"
#include "runtime/device/launch_grid.h"
#include "runtime/driver/driver.h"
#include "runtime/execution/opaque_call.h"
#include "runtime/execution/variant.h"

namespace sinter {

/// One kernel launch whose parameters stay where they are; only values change.
struct PreparedLaunch {
  CUlaunchConfig config{};
  LaunchAttributes attributes;  ///< what `config` points to
  CUfunction function = nullptr;
  void** parameters = nullptr;
  bool is_kernel = true;                 ///< false: it is empty, or a call
  bool is_empty = false;                 ///< no blocks: nothing to launch
  bool changed = true;                   ///< since the CUDA Graph last took its values
  std::span<const std::uint64_t> table;  ///< what device memory at `table_at` must hold
  CUdeviceptr table_at = 0;
  bool table_changed = true;     ///< since it was last copied there
  OpaqueLaunch* call = nullptr;  ///< of the user's function, in place of a kernel
};

/// Puts the work of a call on the stream of `launch`.
void make_call(const DeviceState& device, const PreparedLaunch& launch, HostWorks& works);

/// Memory of a context that a launch set addresses.
struct ScratchLayout {
  std::vector<std::int64_t> buffer_offsets;     ///< per program buffer; -1: bound by the caller
  std::vector<std::int64_t> workspace_offsets;  ///< per kernel; -1: none
  std::vector<std::int64_t> call_bytes;         ///< per opaque call: that its function works in
  std::int64_t arena_bytes = 0;                 ///< temporaries, then workspaces
  std::vector<std::int64_t> ticket_offsets;     ///< per kernel, in counters; -1: none
  std::int64_t tickets = 0;                     ///< counters that must be 0 before the first launch
  std::vector<std::int64_t> table_offsets;      ///< per kernel, in bytes; -1: none
  std::int64_t table_bytes = 0;                 ///< of memory that nobody else writes to
};

/// Where a variant's temporaries, workspaces and tickets lie for these sizes; `planner` is of its
/// program.
ScratchLayout lay_out(const Variant& variant, const MemoryPlanner& planner,
                      std::span<const std::int64_t> symbols);

class LaunchSet {
 public:
  LaunchSet(std::shared_ptr<const Variant> variant, const Interface& interface);
  LaunchSet(const LaunchSet&) = delete;
  LaunchSet& operator=(const LaunchSet&) = delete;

  const Variant& variant() const { return *variant_; }
  const ScratchLayout& layout() const { return layout_; }
  std::span<const std::int64_t> symbols() const { return symbols_; }
  std::span<PreparedLaunch> launches() { return launches_; }
  bool has_calls() const { return !calls_.empty(); }

  /// Computes grids, extents and the layout for new sizes. Scratch must be set again after it.
  void set_symbols(std::span<const std::int64_t> symbols);
  /// Points temporaries, workspaces and tickets into the context's memory, and tables into this
  /// set's own.
  void set_scratch(CUdeviceptr arena, CUdeviceptr tickets, CUdeviceptr tables);
  /// Fills in what differs from what was bound last.
  void set_values(std::span<const std::uint64_t> values);
  void set_stream(CUstream stream);

 private:
  struct Patch {
    std::uint32_t argument;
    std::uint32_t launch;
    int part = -1;             ///< the buffer, where it is a part of what is bound
    std::uint64_t offset = 0;  ///< of the part, in bytes
  };

  void put(Patch patch, std::uint64_t value) {
    std::uint64_t& argument = arguments_[patch.argument];
    if (argument == value) return;
    argument = value;
    PreparedLaunch& launch = launches_[patch.launch];
    (&argument < launch.table.data() ? launch.changed : launch.table_changed) = true;
  }
  template <class Visit>
  void for_each_argument(Visit visit) const;
  void set_part_offsets();

  std::shared_ptr<const Variant> variant_;
  MemoryPlanner planner_;
  ScratchLayout layout_;
  std::vector<std::int64_t> symbols_;
  std::vector<PreparedLaunch> launches_;
  std::vector<std::unique_ptr<OpaqueLaunch>> calls_;  ///< in the order of the launches
  /// 8 bytes each, of which the driver reads as many as it needs: the parameters of a launch, then
  /// its table.
  std::vector<std::uint64_t> arguments_;
  std::vector<void*> parameters_;  ///< the address of each argument
  std::vector<Patch> patches_;     ///< those of slot i: patches_[first_patch_[i]] …
  std::vector<std::uint32_t> first_patch_;
  std::vector<std::uint64_t> values_;  ///< per slot, as filled in
};

}  // namespace sinter
