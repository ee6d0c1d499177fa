// Scratch copies of all buffers that a kernel touches, filled with random numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/shape/host_array.h"
#include "ir/support/dense_map.h"
#include "runtime/tuning/measure_candidates.h"

namespace sinter {

/// Several sets of the kernel's buffers, so that consecutive launches find nothing in L2.
/// Sub-buffers of an array have the same relative offsets as in a run.
class ScratchBuffers {
 public:
  /// Bytes of one set.
  static std::int64_t bytes_per_set(const TuneRequest& request) { return layout_of(request).bytes; }

  /// Bytes of the buffers that every candidate writes.
  static std::int64_t bytes_of_results(const TuneRequest& request);

  /// The program and the sizes of `request` must outlive the buffers.
  ScratchBuffers(DeviceState& device, const TuneRequest& request, int sets, CUstream stream);

  int sets() const { return sets_; }
  /// The values of `source`'s arguments for one set, then those of its table. A table that the
  /// kernel reads from device memory is there when this returns.
  std::vector<std::uint64_t> arguments(const Source& source, int set) const;
  /// Restores the initial contents of the buffers in the first set that the kernel writes.
  void restore();
  /// The memory of a buffer.
  struct Result {
    CUdeviceptr pointer = 0;
    std::int64_t bytes = 0;
    DType dtype = DType::f32;
  };
  /// The buffers in the first set that every candidate writes, without empty ones.
  std::vector<Result> results() const;
  /// Copies memory of the device to `to`. Waits for the stream.
  void read(CUdeviceptr from, std::span<std::byte> to) const;
  /// True if a candidate touches this buffer of the program.
  bool is_touched(int buffer) const { return layout_.part_of.contains(buffer); }
  /// True if the scratch data contains the buffer's memory, directly or inside a larger array.
  bool contains(int buffer) const { return slot_with(buffer) != nullptr; }
  /// True if the kernel writes the whole array that holds this buffer, or, if the buffer is a whole
  /// array, any part of it.
  bool writes_to_array_of(int buffer) const;
  /// The contents of a contained buffer in the first set. Waits for the stream.
  HostArray array(int buffer) const;
  /// The value of a run-time scalar, by the index of its input.
  HostArray number(int input) const;

 private:
  /// The memory of one array, from the first to the last byte that the kernel touches.
  struct Slot {
    int array = 0;           ///< the buffer
    std::int64_t begin = 0;  ///< in bytes, within the array
    std::int64_t end = 0;
    std::int64_t offset = 0;  ///< of byte `begin`, within a set
    bool is_written = false;
  };
  struct Part {
    int buffer = 0;
    DType dtype = DType::f32;
    std::int64_t offset = 0;  ///< within a set
    std::int64_t bytes = 0;
    bool is_written = false;
    bool is_compared = false;  ///< written by every candidate
  };
  struct Layout {
    std::vector<Slot> slots;
    std::vector<Part> parts;             ///< the buffers that candidates touch
    DenseMap<int, std::size_t> part_of;  ///< buffer → index in `parts`
    std::int64_t workspace_offset = 0;
    std::int64_t ticket_offset = 0;
    std::int64_t bytes = 0;  ///< of a set
  };

  static Layout layout_of(const TuneRequest& request);
  static Part part_at(const Slot& slot, int buffer, const Program& program,
                      std::span<const std::int64_t> symbols);
  const Slot* slot_with(int buffer) const;
  void fill(const Slot& slot);
  /// Copies pageable memory to the device. Waits for the stream.
  void upload(CUdeviceptr to, std::span<const std::byte> bytes, std::string_view what) const;
  /// Random numbers of this type for up to 1 MiB of `buffer`.
  std::span<const std::byte> pattern(const Buffer& buffer, std::int64_t bytes);
  CUdeviceptr address(std::int64_t offset, int set) const;
  std::uint64_t value(const Argument& argument, int set) const;
  CUdeviceptr table(const Source& source, int set) const;

  DeviceState& device_;
  CUstream stream_;
  const Program& program_;
  std::span<const std::int64_t> symbols_;
  const Layout layout_;
  const int sets_;
  DeviceMemory memory_;
  /// The patterns of all fills, by type and by the range of their numbers.
  std::map<std::tuple<DType, double, double>, std::vector<std::byte>> patterns_;
  /// The tables of sources that have one, per set.
  mutable std::map<std::pair<const Source*, int>, std::unique_ptr<DeviceMemory>> tables_;
};

}  // namespace sinter
