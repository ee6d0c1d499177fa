// The NCCL double (tests/virtual_gpu/nccl): its functions for tests, and tests whose ranks are
// threads, each with a GPU.
#pragma once

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "runtime/collectives/nccl/nccl.h"
#include "runtime/driver/deferred_release.h"
#include "sinter/sinter.h"

namespace sinter::test {

/// NCCL is the double if `is_there()`.
class NcclDouble {
 public:
  static bool is_there() { return find<int()>("ncclDoubleLive") != nullptr; }
  /// The misuses of NCCL's interface since the last call.
  static std::string violations() { return find<const char*()>("ncclDoubleViolations")(); }
  /// Live communicators of this rank get an asynchronous error.
  static void fail(int rank, nccl::ncclResult_t result, const char* text) {
    find<void(int, int, const char*)>("ncclDoubleFail")(rank, result, text);
  }
  /// Communicators that were not destroyed or aborted.
  static int live() { return find<int()>("ncclDoubleLive")(); }
  static int aborted() { return find<int()>("ncclDoubleAborted")(); }
  /// The calls of the newest communicator of a rank, one per line.
  static std::string calls(int rank) { return find<const char*(int)>("ncclDoubleCalls")(rank); }

 private:
  template <class Function>
  static Function* find(const char* name) {
    const Nccl* const library = find_nccl().library;
    if (!library) return nullptr;
    void* const handle = dlopen(library->path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<Function*>(dlsym(handle, name));
  }
};

/// Tests with real GPUs and NCCL, or with their doubles. The double must find no misuse, and every
/// communicator must have ended.
class NcclTest : public testing::Test {
 protected:
  /// Skips the test if there are fewer GPUs than ranks.
  void need_gpus(int count) {
    gpus_ = devices();
    std::erase_if(gpus_, [](const Device& device) { return device.is_host(); });
    if (std::ssize(gpus_) < count) GTEST_SKIP() << "there are no " << count << " CUDA devices";
    if (!find_nccl().library) GTEST_SKIP() << find_nccl().reason;
  }
  /// Skips the test unless NCCL is the double.
  void need_double(int count) {
    need_gpus(count);
    if (!IsSkipped() && !NcclDouble::is_there()) GTEST_SKIP() << "NCCL is no double";
  }
  void TearDown() override {
    if (IsSkipped() || !NcclDouble::is_there()) return;
    EXPECT_EQ(NcclDouble::violations(), "");
    // A captured run ends soon after its graph.
    for (int i = 0; i < 1000 && NcclDouble::live() > 0; ++i) {
      run_deferred_releases();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(NcclDouble::live(), 0);
  }
  Device gpu(int rank) const { return gpus_[static_cast<std::size_t>(rank)]; }

 private:
  std::vector<Device> gpus_;
};

}  // namespace sinter::test
