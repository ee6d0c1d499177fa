// Saved executables with weights: one file has the program and its arrays.
#include <gmock/gmock.h>

#include <thread>

#include "runtime/driver/host/host_driver.h"
#include "runtime/execution/executable_state.h"
#include "tests/host/saved/saved_fixture.h"

namespace sinter::test::saved_weights_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Floats = std::vector<float>;
using Bytes = std::vector<std::byte>;
using ChangeWeights = std::function<void(SavedWeights& weights, Bytes& data)>;

/// The program of Saved with arrays for all inputs but x.
class SavedWeightsTest : public Saved {
 protected:
  static constexpr std::int64_t kColumns = 64;

  Array array(const Floats& values) const {
    const Array result = device.empty(f32, {static_cast<std::int64_t>(values.size())});
    device.upload(result, values, stream);
    stream.synchronize();
    return result;
  }
  Floats read(const Array& array) const { return device.download<float>(array, stream); }
  Array rows(std::int64_t count) const {
    const Array result = device.empty(f32, {count, kColumns});
    Floats values(static_cast<std::size_t>(count * kColumns));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i % 17);
    device.upload(result, values, stream);
    return result;
  }
  Floats run(const Executable& executable, std::int64_t count = 8) const {
    return read(executable.context().run(stream, {{"x", rows(count)}})["y"]);
  }
  Executable with_weights() const {
    const Executable executable = compiled().with_weights(
        {{"bias", bias}, {"total", array(Floats(kColumns, 1.0F))}, {"rate", 0.25}});
    executable.prepare({{"rows", 8}, {"n", kColumns}});
    return executable;
  }
  /// Rewrites the file with other weights.
  void change_weights(const ChangeWeights& change) const;

  const Device device = host_device();
  const Stream stream = device.stream();
  const Array bias = array([] {
    Floats values(kColumns);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 3;
    return values;
  }());
};

TEST_F(SavedWeightsTest, AnswerLikeTheSavedExecutable) {
  const Executable executable = with_weights();
  executable.save(path);
  const Floats expected = run(executable);
  const Executable loaded = load(path, device);
  EXPECT_EQ(run(loaded), expected);
  EXPECT_EQ(run(loaded, 5), run(executable, 5));
  Context context = loaded.context();
  const Array y = device.empty(f32, {8, kColumns});
  context.replay(stream, {{"x", rows(8)}}, {{"y", y}});
  EXPECT_EQ(read(y), expected);
  const Array zeros = array(Floats(kColumns, 0.0F));
  EXPECT_NE(read(context.run(stream, {{"x", rows(8)}, {"bias", zeros}})["y"]), expected)
      << "a call may bind them";
}

/// On the host device, weights are views of the file, except those that the program updates.
TEST_F(SavedWeightsTest, AreMappedInsteadOfCopied) {
  with_weights().save(path);
  const std::int64_t before = counters().device_bytes;
  const std::int64_t copied = counters().copied_bytes;
  const Executable loaded = load(path, device);
  constexpr std::int64_t kBytes = kColumns * 4;
  EXPECT_EQ(counters().device_bytes - before, kBytes) << "total, which is updated";
  EXPECT_EQ(counters().copied_bytes - copied, kBytes);
  const Array mapped = loaded.weight("bias");
  EXPECT_TRUE(mapped.is_read_only());
  EXPECT_EQ(mapped.data().pointer % kSavedAlignment, 0U);
  EXPECT_FALSE(loaded.weight("total").is_read_only());
  EXPECT_EQ(read(mapped), read(bias));
  EXPECT_THAT(error_of([&] { device.upload(mapped, Floats(kColumns), stream); }),
              HasSubstr("f32[64] is read-only"));
}

/// Arrays keep the file mapped, even if it is replaced or removed.
TEST_F(SavedWeightsTest, OutliveTheFileAndTheExecutable) {
  const Executable executable = with_weights();
  executable.save(path);
  const Floats expected = run(executable);
  std::optional<Executable> loaded = load(path, device);
  executable.with_weights({{"bias", array(Floats(kColumns, 9.0F))}}).save(path);
  EXPECT_EQ(run(*loaded), expected);
  fs::remove(path);
  const Array kept = loaded->weight("bias");
  Context context = loaded->context();
  loaded.reset();
  EXPECT_EQ(read(context.run(stream, {{"x", rows(8)}})["y"]), expected);
  EXPECT_EQ(read(kept), read(bias));
}

/// Updates are the state of each loaded executable, and `save` writes the present contents.
TEST_F(SavedWeightsTest, KeepTheirPresentState) {
  const Executable executable = with_weights();
  executable.save(path);
  run(executable);
  const Floats after = read(executable.weight("total"));
  const std::string later = folder.path() + "/later.sinterx";
  executable.save(later);
  EXPECT_EQ(read(load(later, device).weight("total")), after);
  const Executable loaded = load(path, device);
  EXPECT_EQ(read(loaded.weight("total")), Floats(kColumns, 1.0F));
  run(loaded);
  EXPECT_EQ(read(loaded.weight("total")), after);
  EXPECT_EQ(read(load(path, device).weight("total")), Floats(kColumns, 1.0F));
}

TEST_F(SavedWeightsTest, MayBeSomeOfTheInputs) {
  const Executable executable = compiled().with_weights({{"rate", 0.25}});
  executable.prepare({{"rows", 8}, {"n", kColumns}});
  executable.save(path);
  const Executable loaded = load(path, device);
  EXPECT_THAT(error_of([&] { run(loaded); }),
              StartsWith("norm: input bias is not bound; bind an array of f32[n] (compiled at "));
  const Array total = array(Floats(kColumns, 1.0F));
  EXPECT_EQ(run(loaded.with_weights({{"bias", bias}, {"total", total}})), run(with_weights()));
}

TEST_F(SavedWeightsTest, MayBeEmptyOrOfAnyType) {
  const Executable executable = compile(parse(R"(
graph pick(x: f32[n], none: f32[0, 4], mask: bool[n], index: i64[n], k: i32) {
  m = where mask, x, 0.0
  g = take m, index {axis = 0}
  f = cast k {to = f32}
  s = sum none {axes = [0, 1]}
  p = mul g, f
  y = add p, s
  return y
})"),
                                        device, kQuickly);
  const Array mask = device.empty(boolean, {3}), index = device.empty(i64, {3});
  device.upload(mask, std::vector<std::uint8_t>{1, 0, 1}, stream);
  device.upload(index, std::vector<std::int64_t>{2, 1, 0}, stream);
  const Executable with = executable.with_weights(
      {{"none", device.empty(f32, {0, 4})}, {"mask", mask}, {"index", index}, {"k", 2}});
  with.prepare({{"n", 3}});
  with.save(path);
  const Executable loaded = load(path, device);
  EXPECT_EQ(read(loaded.context().run(stream, {{"x", array({1, 2, 3})}})["y"]), (Floats{6, 0, 2}));
}

TEST_F(SavedWeightsTest, ServeThreads) {
  const Executable executable = with_weights();
  std::vector<Floats> expected;
  for (std::int64_t count = 1; count <= 8; ++count) {
    expected.push_back(run(executable, count));
  }
  executable.save(path);
  const Executable loaded = load(path, device);
  std::vector<Floats> answers(expected.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < answers.size(); ++i)
    threads.emplace_back([&, i] {
      const Stream own = device.stream();
      const Array x = rows(static_cast<std::int64_t>(i + 1));
      const Array total = device.empty(f32, {kColumns});  // each thread has its own state
      Context context = loaded.context();
      for (int times = 0; times < 20; ++times)
        answers[i] =
            device.download<float>(context.run(own, {{"x", x}, {"total", total}})["y"], own);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answers, expected);
}

/// A file has the elements in row-major order, without the gaps.
TEST_F(SavedWeightsTest, KeepTheirStrides) {
  const Executable strided = compile(parse(R"(
graph strided(x: f32[2], w: f32[2, 3] {strides = [1, 4]}, v: f32[2] {strides = [2]}) {
  s = sum w {axes = [1]}
  t = add x, s
  y = mul t, v
  u = add v, x
  update v, u
  return y
})"),
                                     device, kQuickly);
  const Array memory = array({1, 2, -1, -1, 10, 20, -1, -1, 100, 200, -1, 3, -1, 4});
  const Executable with =
      strided.with_weights({{"w", memory.view(0, f32, {2, 3}, {1, 4})},
                            {"v", memory.view(11 * sizeof(float), f32, {2}, {2})}});
  with.save(path);
  const std::int64_t all = counters().device_bytes;
  const Executable loaded = load(path, device);
  EXPECT_EQ(counters().device_bytes - all, (10 + 3) * sizeof(float));
  EXPECT_THAT(loaded.weight("w").strides(), ::testing::ElementsAre(1, 4));
  EXPECT_TRUE(loaded.weight("w").is_read_only());
  EXPECT_EQ(read(loaded.weight("w")), (Floats{1, 10, 100, 2, 20, 200}));
  EXPECT_THAT(loaded.weight("v").strides(), ::testing::ElementsAre(2));
  const Array x = array({1, 2});
  EXPECT_EQ(read(loaded.context().run(stream, {{"x", x}})["y"]), (Floats{336, 896}));
  EXPECT_EQ(read(loaded.weight("v")), (Floats{4, 6}));
  EXPECT_EQ(read(with.weight("v")), (Floats{3, 4}));
  for (const std::vector<std::int64_t>& strides :
       {std::vector<std::int64_t>{1, 5}, {-1, 4}, {1}, {1, 4, 1}}) {
    with.save(path);
    change_weights([&](SavedWeights& weights, Bytes&) { weights.table[0].strides = strides; });
    EXPECT_THAT(load_error(), HasSubstr(" is invalid: its weights: w has the strides [" +
                                        std::to_string(strides[0])));
  }
}

TEST_F(SavedWeightsTest, AreCheckedWhenTheyAreLoaded) {
  with_weights().save(path);
  change_weights([](SavedWeights& weights, Bytes& data) {
    weights.table[1].shape = {32};  // total; bias has 64
    weights.table[1].bytes = 128;
    data.resize(data.size() - 128);
  });
  EXPECT_THAT(load_error(),
              AllOf(StartsWith("load: " + path +
                               " is invalid: its weights: norm: input total is f32[n] but bound to "
                               "f32[32]: the extent of axis 0 must be 64, since n is 64 by input "
                               "bias"),
                    EndsWith("; save it again")));
}

/// A file that cannot be written leaves neither a part of it nor the file before it changed.
TEST_F(SavedWeightsTest, SurviveAFailedSave) {
  const Executable executable = with_weights();
  executable.save(path);
  const std::string before = read_text(path);
  EXPECT_THAT(error_of([&] { executable.save("/dev/full"); }),
              StartsWith("save norm: /dev/full cannot be written: No space left on device"));
  host::inject_fault("cuMemcpyDtoHAsync", 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THAT(error_of<DriverError>([&] { executable.save(path); }), HasSubstr("download of"));
  host::clear_error();
  EXPECT_EQ(read_text(path), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

void SavedWeightsTest::change_weights(const ChangeWeights& change) const {
  const auto file = map_trusted_file(path);
  const SavedExecutable saved = read_saved(file->bytes(), path);
  SavedWeights weights = saved.weights;
  Bytes data(weights.data.begin(), weights.data.end());
  change(weights, data);
  const std::vector<SavedSection> sections = {
      {.kind = kProgramSection, .bytes = pack(saved.program)},
      {.kind = kKernelsSection,
       .name = saved.archs[0],
       .bytes = {saved.sections[0].bytes.begin(), saved.sections[0].bytes.end()}},
      {.kind = kWeightsSection, .bytes = pack(weights)},
      {.kind = kWeightDataSection, .bytes = data}};
  const auto fill = [&](const File& to) { return write_saved_file(to, sections); };
  ASSERT_EQ(write_named_file(path, fill), 0);
}

}  // namespace
}  // namespace sinter::test::saved_weights_test
