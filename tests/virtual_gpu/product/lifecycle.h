// Lifecycle: programs that make every driver call of the product, for tests that let one fail.
#pragma once

#include <string>
#include <vector>

#include "sinter/sinter.h"
#include "tests/virtual_gpu/product/two_gpus.h"

namespace sinter::virtual_gpu {

/// The programs, with a cache of their compiled kernels and a saved file in a folder.
class Lifecycle {
 public:
  explicit Lifecycle(std::string folder);
  ~Lifecycle();
  Lifecycle(const Lifecycle&) = delete;
  Lifecycle& operator=(const Lifecycle&) = delete;

  /// Compiles, runs, replays, captures, profiles and loads programs on both devices. Releases all
  /// memory again, also if a call throws. Returns the numbers that were computed.
  std::vector<float> run(const TwoGpus& gpus) const;

 private:
  /// Writes the saved file. The first run does that.
  void save(const Executable& executable) const;
  std::string file() const { return folder_ + "/saved.sinterx"; }
  Options options() const;
  /// So that a program of several kernels has several launches.
  Options options_without_phases() const;

  std::vector<float> run_programs(const Device& device) const;
  std::vector<float> run_lists(const Device& device) const;
  std::vector<float> run_phases(const Device& device) const;
  std::vector<float> run_clusters(const Device& device) const;
  std::vector<float> run_calls(const Device& device) const;
  std::vector<float> run_captured(const Device& device) const;
  std::vector<float> copy_and_time(const Device& device) const;

  const std::string folder_;
};

}  // namespace sinter::virtual_gpu
