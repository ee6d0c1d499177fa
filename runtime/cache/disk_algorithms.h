// DiskAlgorithms: the algorithms of libraries in the disk cache.
#pragma once

#include "runtime/libraries/algorithms/stored_algorithm.h"
#include "sinter/options.h"

namespace sinter {

class DiskAlgorithms final : public AlgorithmStore {
 public:
  /// The cache and the log of these options. The cache is opened at the first use.
  explicit DiskAlgorithms(const Options& options) : options_(options) {}

  std::optional<std::vector<std::byte>> find(const AlgorithmKey& key) override;
  std::vector<std::byte> publish(const AlgorithmKey& key, std::span<const std::byte> bytes,
                                 std::span<const std::byte> refused) override;
  void log_refusal(const AlgorithmKey& key, const std::string& why) override;

 private:
  const Options options_;
};

}  // namespace sinter
