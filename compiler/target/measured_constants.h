// The constants of a Target that a program can measure on the GPU. Their names are those of target
// files: bench/measure_gpu writes them, and runtime/device/target_file.h reads them.
#pragma once

#include <span>
#include <string_view>

#include "compiler/target/target.h"

namespace sinter {

/// One such constant. A value outside of [low, high] is a wrong measurement.
struct MeasuredConstant {
  std::string_view name;
  std::string_view unit;
  double low = 0;
  double high = 0;
  void (*set)(Target& target, double value) = nullptr;
  double (*get)(const Target& target) = nullptr;
};

/// All of them, in the order of target files.
std::span<const MeasuredConstant> measured_constants();
/// The constant of that name; nullptr if there is none.
const MeasuredConstant* find_measured_constant(std::string_view name);

}  // namespace sinter
