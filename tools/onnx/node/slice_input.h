// The ranges of Slice, which the evaluator and the importer of Slice share.
#pragma once

#include "tools/onnx/node/call.h"

#include <cstdint>
#include <vector>

namespace sinter::onnx {

/// The elements begin, begin + step, … before end of an axis. Negative numbers count from the end,
/// and numbers beyond the ends are clamped.
struct SliceRange {
  int axis = 0;
  Extent begin;
  Extent end;
  std::int64_t step = 1;
};

/// The ranges of a Slice of a value of rank `rank`: attributes before opset 10, then inputs.
std::vector<SliceRange> slice_ranges(const Call& call, int rank);

/// A range over an axis of a known extent.
struct NumberRange {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};
NumberRange clamped_range(std::int64_t begin, std::int64_t end, std::int64_t step,
                          std::int64_t extent);

}  // namespace sinter::onnx
