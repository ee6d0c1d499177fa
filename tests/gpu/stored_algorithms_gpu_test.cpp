// Algorithms of cuBLASLt and plans of cuDNN that outlive the process. A later plan asks no
// heuristic and has equal bits. It replaces an algorithm that the library refuses.
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/libraries/cuda/cublaslt_plan.h"
#include "runtime/libraries/cuda/cudnn_plan.h"
#include "runtime/libraries/cuda/on_device.h"
#include "sinter/sinter.h"

namespace sinter::test::stored_algorithms_gpu_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

/// A store in memory that counts.
struct CountedAlgorithms final : AlgorithmStore {
  std::optional<std::vector<std::byte>> find(const AlgorithmKey& key) override {
    const auto found = entries.find(key.text());
    if (found == entries.end()) return std::nullopt;
    return found->second;
  }
  std::vector<std::byte> publish(const AlgorithmKey& key, std::span<const std::byte> bytes,
                                 std::span<const std::byte>) override {
    ++puts;
    last = key;
    return entries[key.text()] = {bytes.begin(), bytes.end()};
  }
  void log_refusal(const AlgorithmKey&, const std::string& why) override {
    refusals.push_back(why);
    if (on_refusal) on_refusal();
  }

  StoredAlgorithm last_algorithm() const {
    return parse_algorithm(last, entries.at(last.text())).algorithm.value();
  }
  /// Replaces the data of the last problem.
  void replace_last(std::vector<std::byte> data) {
    publish(last, to_bytes(last, {.workspace_bytes = 0, .data = std::move(data)}), {});
    puts = 0;
  }

  std::map<std::string, std::vector<std::byte>> entries;
  std::vector<std::string> refusals;
  std::function<void()> on_refusal;
  AlgorithmKey last;
  int puts = 0;
};

class StoredAlgorithms : public testing::Test {
 protected:
  void SetUp() override {
    if (device.is_host()) GTEST_SKIP() << "there is no CUDA device";
    if (device.name().starts_with("virtual GPU"))
      GTEST_SKIP() << "NVIDIA's libraries do not run on the virtual GPU";
  }

  Array numbers(const std::vector<std::int64_t>& shape, float factor) {
    const Array array = device.empty(f32, shape);
    std::vector<float> values(static_cast<std::size_t>(array.elements()));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(i * 7919 % 1013) * factor - 0.3F;
    device.upload(array, values, stream);
    return array;
  }
  Array workspace_of(const auto& plan) {
    return device.empty(u8, {std::max<std::int64_t>(plan.workspace_bytes(), 1)});
  }

  const Device device = default_device();
  const Stream stream = device.stream();
  CountedAlgorithms store;
};

class StoredProducts : public StoredAlgorithms {
 protected:
  void SetUp() override {
    StoredAlgorithms::SetUp();
    if (IsSkipped()) return;
    if (!find_cublaslt().library) GTEST_SKIP() << find_cublaslt().reason;
    const OnDevice current(device.ordinal());
    ASSERT_EQ(find_cublaslt().library->table.cublasLtCreate(&handle),
              cublaslt::CUBLAS_STATUS_SUCCESS);
  }
  /// Prepares a plan as a new process would.
  void prepare(CublasltPlan& plan, DType dtype) {
    const OnDevice current(device.ordinal());
    log_refusal(&store, plan.prepare(query_of(dtype), &store));
  }
  CublasltQuery query_of(DType dtype) const {
    return {.problem = {.a_dtype = dtype,
                        .b_dtype = dtype,
                        .result_dtype = dtype,
                        .m = 320,
                        .n = 96,
                        .k = 4096},
            .device = device.ordinal(),
            .most_workspace = 32 << 20};
  }
  std::vector<float> product() {
    const Array a = numbers({320, 4096}, 1e-3F), b = numbers({4096, 96}, 2e-3F);
    const Array result = device.empty(f32, {320, 96});
    CublasltPlan plan(*find_cublaslt().library, handle);
    prepare(plan, f32);
    const OnDevice current(device.ordinal());
    const Array workspace = workspace_of(plan);
    plan.enqueue(a.pointer(), b.pointer(), result.pointer(), workspace.pointer(),
                 static_cast<cuda::CUstream>(stream.handle()));
    return device.download<float>(result, stream);
  }
  cublaslt::cublasLtHandle_t handle = nullptr;
};

TEST_F(StoredProducts, ALaterPlanAsksNothingAndHasEqualBits) {
  const std::vector<float> first = product();
  EXPECT_THAT(store.entries, SizeIs(1));
  EXPECT_EQ(store.puts, 1);
  EXPECT_EQ(product(), first);
  EXPECT_EQ(store.puts, 1);
  EXPECT_THAT(store.refusals, IsEmpty());
}

TEST_F(StoredProducts, ARefusedAlgorithmIsReplaced) {
  CublasltPlan doubles(*find_cublaslt().library, handle);
  prepare(doubles, f64);
  const std::vector<std::byte> of_doubles = store.last_algorithm().data;
  const std::vector<float> first = product();
  for (const std::vector<std::byte>& data : {of_doubles, std::vector<std::byte>(3)}) {
    store.replace_last(data);
    EXPECT_EQ(product(), first);
    EXPECT_EQ(store.puts, 1);
    EXPECT_THAT(store.refusals, SizeIs(1));
    store.refusals.clear();
  }
}

/// No lock is held while the log of a user is called.
TEST_F(StoredProducts, TheLogOfARefusalMayMakeAnotherPlan) {
  CublasltPlan floats(*find_cublaslt().library, handle);
  prepare(floats, f32);
  store.replace_last(std::vector<std::byte>(3));
  int plans = 0;
  store.on_refusal = [&] { plans += cublaslt_plan(query_of(f64), nullptr) != nullptr; };
  const OnDevice current(device.ordinal());
  EXPECT_NE(cublaslt_plan(query_of(f32), &store), nullptr);
  EXPECT_EQ(plans, 1);
}

class StoredConvs : public StoredAlgorithms {
 protected:
  void SetUp() override {
    StoredAlgorithms::SetUp();
    if (IsSkipped()) return;
    if (!find_cudnn().library) GTEST_SKIP() << find_cudnn().reason;
    const OnDevice current(device.ordinal());
    ASSERT_EQ(find_cudnn().library->table.cudnnCreate(&cudnn_device.handle),
              cudnn::CUDNN_STATUS_SUCCESS);
  }
  std::vector<float> conv(ConvKind kind) {
    const Array x = numbers({2, 64, 28, 28}, 1e-3F), w = numbers({96, 64, 3, 3}, 2e-3F),
                y = numbers({2, 96, 28, 28}, 1e-3F);
    const Array& result = kind == ConvKind::forward ? y : kind == ConvKind::data_gradient ? x : w;
    CudnnQuery query{.problem = {.kind = kind,
                                 .images = 2,
                                 .channels = 64,
                                 .filters = 96,
                                 .size = {1, 28, 28},
                                 .filter_size = {1, 3, 3},
                                 .result_size = {1, 28, 28},
                                 .padding_begin = {0, 1, 1},
                                 .padding_end = {0, 1, 1}},
                     .device = device.ordinal(),
                     .most_workspace = 256 << 20};
    const OnDevice current(device.ordinal());
    CudnnPlan plan(*find_cudnn().library, cudnn_device);
    std::optional<RefusedAlgorithm> refused;
    {
      const std::lock_guard lock(cudnn_device.mutex);
      refused = plan.prepare(query, &store);
    }
    log_refusal(&store, refused);
    const Array workspace = workspace_of(plan);
    plan.enqueue(x.pointer(), w.pointer(), y.pointer(), workspace.pointer(),
                 static_cast<cuda::CUstream>(stream.handle()));
    return device.download<float>(result, stream);
  }
  CudnnDevice cudnn_device;
};

constexpr ConvKind kKinds[] = {ConvKind::forward, ConvKind::data_gradient,
                               ConvKind::weight_gradient};

TEST_F(StoredConvs, ALaterPlanAsksNothingAndHasEqualBits) {
  for (const ConvKind kind : kKinds) {
    store.puts = 0;
    const std::vector<float> first = conv(kind);
    EXPECT_EQ(store.puts, 1);
    EXPECT_EQ(conv(kind), first);
    EXPECT_EQ(store.puts, 1);
    EXPECT_THAT(store.refusals, IsEmpty());
  }
  EXPECT_THAT(store.entries, SizeIs(3));
}

TEST_F(StoredConvs, ARefusedPlanIsReplaced) {
  for (const ConvKind kind : kKinds) {
    const std::vector<float> first = conv(kind);
    std::vector<std::byte> half = store.last_algorithm().data;
    half.resize(half.size() / 2);
    store.replace_last(half);
    EXPECT_EQ(conv(kind), first);
    EXPECT_EQ(store.puts, 1);
    EXPECT_THAT(store.refusals, SizeIs(1));
    store.refusals.clear();
  }
}

}  // namespace
}  // namespace sinter::test::stored_algorithms_gpu_test
