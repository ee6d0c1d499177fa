// Scratch copies of everything that one kernel touches, filled with random numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "codegen/text/source.h"
#include "compiler/program/kernel.h"
#include "ir/shape/host_array.h"
#include "ir/support/dense_map.h"
#include "runtime/device/device_state.h"

namespace sinter {

/// Several sets of the kernel's buffers, so that launches in a row find nothing in L2. Parts of an
/// array lie in it as they do in a run, as far as the kernel touches it.
class TuningData {
 public:
  /// `workspace_bytes` and `tickets` are the most that any candidate needs.
  struct Request {
    const Program& program;
    const Kernel& kernel;
    std::span<const Source> sources;  ///< candidates; some keep an inner array on the SM
    std::span<const std::int64_t> symbols;
    std::int64_t alignment = 16;
    std::int64_t workspace_bytes = 0;
    std::int64_t tickets = 0;
  };

  /// Bytes of one set.
  static std::int64_t bytes_per_set(const Request& request);

  TuningData(DeviceState& device, const Request& request, int sets, CUstream stream);

  int sets() const { return sets_; }
  /// The values of `source`'s arguments for one set. Its table, if it has one, is in device memory
  /// once this returns.
  std::vector<std::uint64_t> arguments(const Source& source, int set) const;
  /// Gives the buffers of a set that the kernel writes their first contents again.
  void restore(int set);
  /// What a set's written buffers hold now, one after the other. Waits for the stream.
  std::vector<std::byte> results(int set);
  /// True if a candidate touches this buffer of the program's.
  bool has(int buffer) const { return part_of_.contains(buffer); }
  /// True if its memory is there: by itself, or as a part of what is.
  bool covers(int buffer) const;
  /// True if the kernel writes to memory of this buffer, or that it is a part of, or that is a part
  /// of it.
  bool is_overwritten(int buffer) const;
  /// What a buffer of the first set, whose memory is there, holds now. Waits for the stream.
  HostArray array(int buffer) const;
  /// The number that is given for a run-time scalar, by its place among the inputs.
  HostArray number(int input) const;
  /// True if both hold the same bits, or NaN where the other does.
  bool equal(std::span<const std::byte> a, std::span<const std::byte> b) const;

 private:
  /// Memory of one array: from the first to the last byte that the kernel touches.
  struct Slot {
    int whole = 0;           ///< the buffer
    std::int64_t begin = 0;  ///< in the whole
    std::int64_t end = 0;
    std::int64_t offset = 0;  ///< of its first byte, in a set
    bool is_written = false;
  };
  struct Part {
    int buffer = 0;
    DType dtype = DType::f32;
    std::int64_t offset = 0;  ///< in a set
    std::int64_t bytes = 0;
    bool is_written = false;
    bool is_compared = false;  ///< written by every candidate
  };

  static std::vector<Slot> slots_of(const Request& request);
  /// Bytes that `slot` takes in a set, whatever pointers are aligned to.
  static std::int64_t room_for(const Slot& slot);
  void lay_out(const Request& request);
  const Slot* slot_with(int buffer) const;
  Part part_at(const Slot& slot, int buffer) const;
  void fill(const Slot& slot, CUdeviceptr to);
  std::uint64_t scalar(int input) const;
  CUdeviceptr address(std::int64_t offset, int set) const;
  /// What a part of a set holds now, into `to`. Waits for the stream.
  void read(const Part& part, int set, std::byte* to) const;
  std::uint64_t value(const Argument& argument, int set) const;
  CUdeviceptr table(const Source& source, int set) const;

  DeviceState& device_;
  CUstream stream_;
  const Program& program_;
  std::vector<std::int64_t> symbols_;
  std::vector<Slot> slots_;
  std::vector<Part> parts_;  ///< what candidates touch
  std::int64_t workspace_offset_ = 0;
  std::int64_t ticket_offset_ = 0;
  std::int64_t set_bytes_ = 0;
  int sets_ = 0;
  std::unique_ptr<DeviceMemory> memory_;
  DenseMap<int, std::size_t> part_of_;  ///< buffer → place in parts_
  /// Of each source with a table, for each set.
  mutable std::map<std::pair<const Source*, int>, std::unique_ptr<DeviceMemory>> tables_;
};

}  // namespace sinter
