// PastAccess: an earlier access, as the records of a granule keep it.
#pragma once

#include <cstdint>

#include "tests/virtual_gpu/checks/clock.h"

namespace sinter::virtual_gpu {

/// Properties of an earlier access, as bits.
struct AccessFlags {
  static constexpr std::uint8_t kWrite = 1;
  static constexpr std::uint8_t kStrong = 2;
  static constexpr std::uint8_t kReadOnly = 4;
};

/// Accesses of lanes of one warp. They have one of two forms:
/// - common: each lane accessed all bytes of the granule;
/// - a row: each lane accessed the `1 << step_shift` bytes behind those of the lane before it. All
///   granules of a row have equal records.
struct PastAccess {
  static constexpr std::uint8_t kCommon = 0xff;

  std::uint32_t segment = 0;  ///< 0: none
  Mask lanes = 0;             ///< of a row: also those that accessed other granules
  std::uint32_t time = 0;
  std::int32_t line = 0;      ///< of the last of them
  std::uint16_t version = 0;  ///< see Granule
  std::uint8_t warp = 0;
  std::uint8_t flags = 0;
  std::int16_t origin = 0;            ///< of a row: the place of lane 0, relative to the page
  std::uint8_t step_shift = kCommon;  ///< of a row

  bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
  bool is_row() const { return step_shift != kCommon; }
  LaneGroup group() const {
    return {.segment = segment, .warp = warp, .lanes = lanes, .time = time};
  }
  /// The lanes that accessed the byte `at` of the page.
  Mask lanes_at(int at) const {
    return is_row() ? lanes & (Mask{1} << ((at - origin) >> step_shift)) : lanes;
  }
  /// The common form. The granule must not be larger than the step of the row.
  PastAccess common_at(int at) const {
    PastAccess result = *this;
    result.lanes = lanes_at(at);
    result.origin = 0;
    result.step_shift = kCommon;
    return result;
  }
  bool has_form_of(const PastAccess& other) const {
    return step_shift == other.step_shift && origin == other.origin;
  }
  /// True if they differ in the lanes and the line only.
  bool is_like(const PastAccess& other) const {
    return segment == other.segment && time == other.time && warp == other.warp &&
           flags == other.flags && version == other.version && has_form_of(other);
  }
  bool operator==(const PastAccess&) const = default;
};

}  // namespace sinter::virtual_gpu
