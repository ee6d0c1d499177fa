// Saved executables: after loading, they run like the original, and nothing is planned or compiled.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/support/process.h"
#include "tests/host/saved/saved_fixture.h"
#include "tests/support/graphs/lists.h"

namespace sinter::test::saved_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// Graphs that cover all kinds of kernels and launches.
std::vector<fs::path> graphs() {
  std::vector<fs::path> paths;
  for (const char* name :
       {"batch_norm", "custom", "equal_sections", "full_sum", "fused_launch_results",
        "layer_norm_backward", "layouts", "levels", "segments_of_updates", "random", "scans",
        "several_scatters", "sgd", "shadowing_names", "stored_in_segments", "transposed_rows"})
    paths.emplace_back(std::string(SINTER_SOURCE_DIR "/tests/golden/run/") + name + ".sinter");
  return paths;
}

class SavedGraph : public ::testing::TestWithParam<fs::path> {};

TEST_P(SavedGraph, MatchesTheSavedExecutable) {
  const ScratchFolder folder;
  const std::string text = read_text(GetParam());
  const Graph graph = parse(text, GetParam().filename().string());
  std::vector<GoldenSizes> runs = golden_sizes(text);
  if (runs.empty()) runs.emplace_back();
  const Executable executable = compile(graph, host_device(), kQuickly);
  std::vector<HostArrays> inputs;
  std::vector<HostArrays> expected;
  for (const GoldenSizes& sizes : runs) {
    const std::vector<std::int64_t> symbols = symbols_for(graph, named(sizes));
    inputs.push_back(random_inputs(graph, symbols, /*seed=*/3));
    expected.push_back(run_executable(executable, graph, inputs.back(), {.symbols = symbols}));
  }
  const std::string path = folder.path() + "/graph.sinterx";
  executable.save(path);

  const std::vector<std::int64_t> before = work();
  const Executable loaded = load(path, host_device());
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const bool as_graph : {false, true})
      expect_equal(
          run_executable(loaded, graph, inputs[i],
                         {.symbols = symbols_for(graph, named(runs[i])), .as_graph = as_graph}),
          expected[i]);
  EXPECT_EQ(work(), before);
  const Report there = executable.report();
  const Report here = loaded.report();
  ASSERT_EQ(here.variants.size(), there.variants.size());
  for (std::size_t i = 0; i < here.variants.size(); ++i)
    EXPECT_EQ(here.variants[i].arena_bytes, there.variants[i].arena_bytes);
}

INSTANTIATE_TEST_SUITE_P(Golden, SavedGraph, ::testing::ValuesIn(graphs()),
                         [](const auto& test) { return test.param.stem().string(); });

/// The table of 12 tensors is a parameter, that of 100 is in device memory.
TEST_F(Saved, TablesMatchTheSavedExecutable) {
  for (const int tensors : {12, 100}) {
    const Graph lists = parse(adamw_text(tensors));
    const Executable executable = compile(lists, host_device(), kQuickly);
    const HostArrays inputs = random_inputs(lists, {}, /*seed=*/3);
    const HostArrays expected = run_executable(executable, lists, inputs, {});
    executable.save(path);
    const Executable loaded = load(path, host_device());
    for (const bool as_graph : {false, true})
      expect_equal(run_executable(loaded, lists, inputs, {.as_graph = as_graph}), expected);
  }
}

TEST_F(Saved, ServesOtherSizesOfAClassWithoutPlanning) {
  const Executable executable = compiled();
  executable.prepare({{"rows", 8}, {"n", 64}}, Views::written);
  executable.save(path);
  const Executable loaded = load(path, host_device());
  for (const std::int64_t rows : {8, 5, 7}) {
    const std::int64_t n = 64 - 16 * (rows % 2);
    const HostArrays expected = run(executable, rows, n);
    const std::vector<std::int64_t> before = work();
    expect_equal(run(loaded, rows, n), expected);
    EXPECT_EQ(work(), before);
  }
  ASSERT_THAT(executable.report().variants, SizeIs(1)) << "these sizes are one class";
}

TEST_F(Saved, RejectsSizesWithoutKernels) {
  const Executable executable = compiled();
  executable.prepare({{"rows", 8}, {"n", 64}}, Views::written);
  executable.save(path);
  const Executable loaded = load(path, host_device());
  EXPECT_THAT(error_of([&] { run(loaded, 8, 70000); }),
              AllOf(StartsWith("norm: " + path + " has no kernels for [rows = 8, n = 70000]: n = "),
                    HasSubstr("70000 is not "),
                    EndsWith("; it has those for the size classes of [rows = 8, n = 64] at "
                             "multiples of 16 bytes. Prepare these sizes before saving it, or load "
                             "it with options.compiles_missing if a compiler is available")));
  EXPECT_THAT(error_of([&] {
                loaded.prepare({{"rows", 8}, {"n", 70000}});
              }),
              StartsWith("norm: " + path + " has no kernels for [rows = 8, n = 70000]: "));
  run(loaded, 7, 64);  // it still works
}

TEST_F(Saved, CompilesMissingSizesIfAllowed) {
  const Executable executable = compiled();
  executable.prepare({{"rows", 8}, {"n", 64}}, Views::written);
  executable.save(path);
  const Executable loaded =
      load(path, host_device(), {.compiles_missing = true, .options = kQuickly});
  expect_equal(run(loaded, 3, 20000), run(executable, 3, 20000));
  EXPECT_THAT(loaded.report().variants, SizeIs(2));
}

TEST_F(Saved, KeepsItsNumerics) {
  Options options = kQuickly;
  options.rounding = Rounding::wide;
  options.fuse = false;
  const Executable executable = compiled(options);
  const HostArrays small = run(executable, 3, 64);
  executable.save(path);
  const Executable loaded =
      load(path, host_device(), {.compiles_missing = true, .options = kQuickly});
  expect_equal(run(loaded, 3, 64), small);
  expect_equal(run(loaded, 3, 20000), run(executable, 3, 20000));
  EXPECT_EQ(loaded.report().kernels.size(), executable.report().kernels.size());
}

TEST_F(Saved, DistinguishesPointerAlignments) {
  const Executable executable = compiled();
  const HostArrays expected = run(executable, 8, 64, /*misalignment=*/4);
  executable.save(path);
  // Kernels for unaligned pointers also serve aligned ones.
  const Executable loaded = load(path, host_device());
  expect_equal(run(loaded, 8, 64, 4), expected);
  expect_equal(run(loaded, 8, 64), expected);
  expect_equal(run(loaded, 8, 64), expected);
  ASSERT_THAT(loaded.report().variants, SizeIs(2)) << "once for each alignment";
  EXPECT_EQ(loaded.report().variants[0].alignment, 4);
  EXPECT_EQ(loaded.report().variants[1].alignment, 16);

  const Executable aligned = compiled();
  run(aligned, 8, 64);
  aligned.save(path);
  const Executable loaded_aligned = load(path, host_device());
  EXPECT_THAT(error_of([&] { run(loaded_aligned, 8, 64, 4); }),
              AllOf(HasSubstr(": a pointer is a multiple of 4 bytes, not of 16; "),
                    HasSubstr(". Bind arrays that begin at multiples of 16 bytes, or run it with "
                              "these pointers before saving it, or load it with ")));
}

TEST_F(Saved, KeepsTheChosenSchedules) {
  Options options = kQuickly;
  options.force_candidate = 1;
  const Executable executable = compiled(options);
  run(executable, 8, 64);
  executable.save(path);
  const Executable loaded = load(path, host_device());
  const Report there = executable.report();
  const Report here = loaded.report();
  ASSERT_EQ(here.kernels.size(), there.kernels.size());
  for (std::size_t i = 0; i < here.kernels.size(); ++i) {
    EXPECT_EQ(here.kernels[i].name, there.kernels[i].name);
    EXPECT_EQ(here.kernels[i].schedule, there.kernels[i].schedule);
    EXPECT_EQ(here.kernels[i].source, there.kernels[i].source);
    EXPECT_EQ(here.kernels[i].nodes, there.kernels[i].nodes);
    EXPECT_EQ(here.kernels[i].tuning, "candidate 1 was forced");
  }
  EXPECT_EQ(here.recorded_ops, there.recorded_ops);
  EXPECT_EQ(here.variants[0].guards, there.variants[0].guards);
  EXPECT_EQ(here.variants[0].reason,
            "loaded from " + path + ", saved by sinter " + std::string(sinter_version()));
  const Executable default_one = compiled();
  run(default_one, 8, 64);
  EXPECT_NE(default_one.report().kernels[0].schedule, here.kernels[0].schedule);
}

/// The text form allows only letters, digits and _ in names. Names of a program may have any
/// characters.
TEST_F(Saved, KeepsNamesWithAnyCharacters) {
  Graph layer("layer.0");
  const Extent n = layer.extent("n");
  layer.output("out/y", layer.input("in/x", f32, {n}) * layer.scalar("a b", f32));
  layer.output("out.y", layer.input("in.x", f32, {n}) + 1);
  const Executable executable = compile(layer, host_device(), kQuickly);
  executable.prepare({{"n", 5}}, Views::written);
  executable.save(path);
  const Executable loaded = load(path, host_device());
  EXPECT_EQ(loaded.name(), "layer.0");
  const std::vector<std::int64_t> symbols = {6};
  const HostArrays inputs = random_inputs(layer, symbols, /*seed=*/1);
  expect_equal(run_executable(loaded, layer, inputs, {.symbols = symbols}),
               run_executable(executable, layer, inputs, {.symbols = symbols}));
}

TEST_F(Saved, IsProfiledLikeACompiledProgram) {
  const Executable executable = compiled();
  executable.prepare({{"rows", 8}, {"n", 64}}, Views::written);
  executable.save(path);
  const auto bytes_of = [&](const Executable& program) {
    const Device device = host_device();
    const Array x = device.empty(f32, {8, 64}), y = device.empty(f32, {8, 64});
    const Array bias = device.empty(f32, {64}), total = device.empty(f32, {64});
    Context context = program.context();
    const Profile profile =
        sinter::profile(context, {{"x", x}, {"bias", bias}, {"total", total}, {"rate", 1.0F}},
                        {{"y", y}}, {.repeats = 1});
    return profile.bytes();
  };
  EXPECT_EQ(bytes_of(load(path, host_device())), bytes_of(executable));
}

/// Runs in its own process, which the next test starts.
TEST(SavedElsewhere, DISABLED_Run) {
  const std::string folder = std::getenv("SINTER_TEST_SAVED");
  const Graph graph = parse(read_text(folder + "/graph.sinter"));
  const std::vector<std::int64_t> symbols = symbols_for(graph, {{"rows", 12}});
  const Executable loaded = load(folder + "/graph.sinterx", host_device());
  const HostArrays results = run_executable(
      loaded, graph, random_inputs(graph, symbols, /*seed=*/9), {.symbols = symbols});
  std::ofstream out(folder + "/y", std::ios::binary);
  const std::span<const std::byte> bytes = results.at("y").bytes();
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  EXPECT_THAT(work(), ::testing::Each(0));
}

TEST(SavedElsewhere, NeedsNoCompiler) {
  const ScratchFolder folder;
  const std::string text = R"(
graph softmax(x: f32[rows, 96]) {
  m = max x {axes = [-1], keep = true}
  d = sub x, m
  e = exp d
  s = sum e {axes = [-1], keep = true}
  y = div e, s
  return y
})";
  std::ofstream(folder.path() + "/graph.sinter") << text;
  const Graph graph = parse(text);
  const Executable executable = compile(graph, host_device(), kQuickly);
  executable.prepare({{"rows", 40}}, Views::written);
  executable.save(folder.path() + "/graph.sinterx");

  const std::string nothing = folder.path() + "/nothing";
  const ProcessResult child = run_process(
      std::vector<std::string>{
          "/usr/bin/env", "SINTER_TEST_SAVED=" + folder.path(), "SINTER_HOST_CXX=" + nothing,
          "SINTER_NVRTC=" + nothing, "PATH=" + nothing, "SINTER_CACHE=off",
          fs::read_symlink("/proc/self/exe").string(), "--gtest_also_run_disabled_tests",
          "--gtest_filter=SavedElsewhere.DISABLED_Run"},
      "", std::chrono::minutes(1));
  ASSERT_EQ(child.exit_code, 0) << child.output;
  EXPECT_THAT(child.output, HasSubstr("1 test from 1 test suite ran"));
  const std::vector<std::int64_t> symbols = symbols_for(graph, {{"rows", 12}});
  const HostArrays expected = run_executable(
      executable, graph, random_inputs(graph, symbols, /*seed=*/9), {.symbols = symbols});
  const std::span<const std::byte> bytes = expected.at("y").bytes();
  const std::string got = read_text(folder.path() + "/y");
  ASSERT_EQ(got.size(), bytes.size());
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(got)), bytes));
}

/// Symbols are numbered in the order of declaration, which may differ from the text.
TEST_F(Saved, MergesKernelsDespiteAnotherSymbolOrder) {
  Graph reordered("reordered");
  const Extent n = reordered.extent("n");
  const Extent rows = reordered.extent("rows");
  const Tensor x = reordered.input("x", f32, {rows, n});
  reordered.output("y", x - mean(x, {-1}, Keep::yes));
  const Executable executable = compile(reordered, host_device(), kQuickly);
  executable.prepare({{"rows", 8}, {"n", 48}}, Views::written);
  executable.save(path);
  const std::string text = read_text(path);
  const SavedExecutable first = read_saved(std::as_bytes(std::span(text)), path);
  ASSERT_EQ(first.program.symbols, (std::vector<std::string>{"n", "rows"}));
  const std::string other = folder.path() + "/other.sinterx";
  fs::copy_file(path, other);
  EXPECT_THAT(error_of([&] { executable.save(path, {.tuned_elsewhere = {other}}); }),
              HasSubstr(" with kernels for host, which the file has already"))
      << "it is the same program";
  change([](SavedKernels& kernels) { kernels.arch = "sm_90"; });
  fs::rename(path, other);
  const std::string elsewhere = read_text(other);
  const SavedExecutable from = read_saved(std::as_bytes(std::span(elsewhere)), other);
  executable.save(path, {.tuned_elsewhere = {other}});
  const std::string merged = read_text(path);
  const SavedExecutable saved = read_saved(std::as_bytes(std::span(merged)), path);
  ASSERT_EQ(saved.archs, (std::vector<std::string>{"host", "sm_90"}));
  EXPECT_TRUE(std::ranges::equal(saved.sections[1].bytes, from.sections[0].bytes));
  const std::vector<std::int64_t> symbols = symbols_for(reordered, {{"rows", 5}, {"n", 48}});
  const HostArrays inputs = random_inputs(reordered, symbols, /*seed=*/4);
  expect_equal(run_executable(load(path, host_device()), reordered, inputs, {.symbols = symbols}),
               run_executable(executable, reordered, inputs, {.symbols = symbols}));
}

/// Each machine tunes its own kernels, and `save` merges them into one file.
TEST_F(Saved, MergesKernelsTunedElsewhere) {
  const Executable executable = compiled();
  executable.prepare({{"rows", 8}, {"n", 64}});
  const std::string other = folder.path() + "/other.sinterx";
  executable.save(path);
  change([](SavedKernels& kernels) { kernels.arch = "sm_90"; });
  fs::rename(path, other);
  executable.save(path, {.tuned_elsewhere = {other}});
  const std::string text = read_text(path);
  const SavedExecutable saved = read_saved(std::as_bytes(std::span(text)), path);
  EXPECT_EQ(saved.archs, (std::vector<std::string>{"host", "sm_90"}));
  EXPECT_EQ(pack(read_kernels(saved, 1, path)).size(),
            pack(read_kernels(saved, 0, path)).size() + 1);
  EXPECT_EQ(load_error(), "(nothing thrown)");

  EXPECT_THAT(error_of([&] { executable.save(path, {.tuned_elsewhere = {path + "2"}}); }),
              StartsWith("save norm: options.tuned_elsewhere: " + path +
                         "2 cannot be read: No such file or directory (compiled at "));
  const auto save_error = [&](const Executable& what) {
    return error_of([&] { what.save(other, {.tuned_elsewhere = {path}}); });
  };
  EXPECT_THAT(
      save_error(executable),
      StartsWith("save norm: options.tuned_elsewhere has " + path +
                 ", with kernels for host, which the file has already; leave one of them out"));
  Options fast = kQuickly;
  fast.math = Math::fast;
  const Executable another = compiled(fast);
  another.prepare({{"rows", 8}, {"n", 64}});
  EXPECT_THAT(save_error(another),
              StartsWith("save norm: options.tuned_elsewhere has " + path +
                         ", which holds another program (norm); save this one "));
}

TEST_F(Saved, MayReplaceALoadedFile) {
  const Executable executable = compiled();
  const HostArrays expected = run(executable, 8, 64);
  executable.save(path);
  const Executable loaded = load(path, host_device());
  executable.save(path);
  fs::remove(path);
  expect_equal(run(loaded, 8, 64), expected);
  std::vector<std::string> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path()))
    left.push_back(entry.path().string());
  EXPECT_THAT(left, IsEmpty()) << "no unfinished file is left behind";
}

}  // namespace
}  // namespace sinter::test::saved_test
