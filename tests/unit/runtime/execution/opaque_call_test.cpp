// Bindings of opaque calls: which of them may keep algorithms.
#include "runtime/execution/opaque_call.h"

#include <memory>

#include <gtest/gtest.h>

#include "runtime/driver/host/host_driver.h"

namespace sinter::opaque_call_test {
namespace {

struct NoAlgorithms final : AlgorithmStore {
  std::optional<std::vector<std::byte>> find(const AlgorithmKey&) override { return std::nullopt; }
  std::vector<std::byte> publish(const AlgorithmKey&, std::span<const std::byte> bytes,
                                 std::span<const std::byte>) override {
    return {bytes.begin(), bytes.end()};
  }
  void log_refusal(const AlgorithmKey&, const std::string&) override {}
};

/// The store that a function of this name sees in its check.
AlgorithmStore* store_seen_by(const std::string& function,
                              const std::shared_ptr<AlgorithmStore>& store) {
  AlgorithmStore* seen = nullptr;
  const OpaqueFunctions functions = {
      {function, std::make_shared<OpaqueFunction>(OpaqueFunction{
                     .enqueue = [](const OpaqueCall&) { return 0; },
                     .check = [&](const OpaqueSizes& sizes) { seen = sizes.algorithms; }})}};
  const OpaqueBinding binding({.function = function, .place = "here", .outputs = {{}}}, functions,
                              host::host_driver(), true, 0, store);
  binding.check(std::span<const std::int64_t>());
  return seen;
}

TEST(OpaqueBinding, OnlyLibraryOpsSeeTheStoreOfAlgorithms) {
  const auto store = std::make_shared<NoAlgorithms>();
  EXPECT_EQ(store_seen_by("matmul", store), store.get());
  EXPECT_EQ(store_seen_by("conv_data_gradient", store), store.get());
  EXPECT_EQ(store_seen_by("gemm", store), nullptr);
  EXPECT_EQ(store_seen_by("matmul", nullptr), nullptr);
}

}  // namespace
}  // namespace sinter::opaque_call_test
