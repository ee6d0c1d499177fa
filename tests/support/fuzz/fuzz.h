// The steps of a fuzz test over random graphs: compile many at once, check each, and write a
// minimised file for a failure.
#pragma once

#include "tests/support/graphs/random_graph.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace sinter::test {

/// A graph and the seed of its inputs.
struct FuzzCase {
  RandomGraph random;
  std::uint64_t seed = 0;
};

/// Compiles the kernels of all graphs, fused and unfused, in few runs of the C++ compiler, into the
/// kernel cache. Ignores errors, which run_fuzz_case reports.
void compile_together(std::span<const FuzzCase> cases);

/// A failure of a graph: the name of the failing check, and its message. `check` is empty if no
/// check failed.
struct FuzzFailure {
  std::string check;
  std::string text;
  explicit operator bool() const { return !check.empty(); }
};

/// Runs the graph fused and unfused on the host device. Odd seeds have schedules for the CPU, and
/// others those of the device's default target. Compares the bits of both runs, the values
/// with the oracle's bounds, and launches and bytes with the prediction.
FuzzFailure run_fuzz_case(const RandomGraph& random, std::uint64_t seed);

/// Minimises `failing`, whose failure is `failure`, and writes it as `NAME.sinter` into
/// $SINTER_FUZZ_OUT, or `fuzz` in the build folder. Returns the file's path.
std::filesystem::path write_minimised(const FuzzCase& failing, const FuzzFailure& failure,
                                      const std::string& name);

}  // namespace sinter::test
