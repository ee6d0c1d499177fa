// Executables in files: what is loaded runs as what was saved, and nothing is planned or compiled.
#include "sinter/saved.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "ir/bind.h"
#include "ir/random_inputs.h"
#include "runtime/host_driver/host_driver.h"
#include "runtime/process.h"
#include "runtime/saved/read_saved.h"
#include "sinter/sinter.h"
#include "tests/support/errors.h"
#include "tests/support/golden.h"
#include "tests/support/run.h"
#include "tests/support/scratch_folder.h"

namespace sinter::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

const Options kQuickly = {.tune = Tune::off, .optimize_host = false};

std::string text_in(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void expect_equal(const HostArrays& actual, const HostArrays& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [name, values] : expected)
    EXPECT_TRUE(equal_bits(actual.at(name), values)) << name;
}

/// What has been planned and compiled so far.
std::vector<std::int64_t> work() {
  const Counters now = counters({.cache = {.mode = CacheMode::off}});
  return {now.plans, now.kernels.compiles, now.kernels.misses, now.tunings};
}

std::vector<Size> named(const GoldenSizes& sizes) {
  std::vector<Size> result;
  for (const auto& [name, value] : sizes) result.push_back({name, value});
  return result;
}

std::vector<std::int64_t> symbols_for(const Graph& graph, const std::vector<Size>& sizes) {
  std::vector<NamedSize> list;
  for (const Size& size : sizes) list.push_back({size.symbol, size.value});
  return symbols_from_sizes(graph, list);
}

/// Graphs of every form of kernels and launches.
std::vector<fs::path> graphs() {
  std::vector<fs::path> paths;
  for (const char* name :
       {"batch_norm", "custom", "equal_members", "full_sum", "joined_results",
        "layer_norm_backward", "layouts", "levels", "pieces_of_updates", "random", "scans",
        "several_scatters", "sgd", "shadowing_names", "stored_in_pieces", "turned_rows"})
    paths.emplace_back(std::string(SINTER_SOURCE_DIR "/tests/golden/run/") + name + ".sinter");
  return paths;
}

class SavedGraph : public ::testing::TestWithParam<fs::path> {};

TEST_P(SavedGraph, RunsAsItDidBefore) {
  const ScratchFolder folder;
  const std::string text = text_in(GetParam());
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

class Saved : public ::testing::Test {
 protected:
  /// Normalises rows, and adds what is left to a parameter: rows of any number, and a class of
  /// lengths.
  static Graph norm() {
    return parse(R"(
graph norm(x: f32[rows, n], bias: f32[n], total: f32[n], rate: f32) {
  ms = mean x {axes = [-1], keep = true}
  d = sub x, ms
  y = add d, bias
  s = sum y {axes = [0]}
  t = mul s, rate
  u = add total, t
  update total, u
  return y
})",
                 "norm.sinter");
  }
  HostArrays run(const Executable& executable, std::int64_t rows, std::int64_t n,
                 std::int64_t misalignment = 0) const {
    const std::vector<std::int64_t> symbols = symbols_for(graph, {{"rows", rows}, {"n", n}});
    return run_executable(executable, graph, random_inputs(graph, symbols, /*seed=*/5),
                          {.symbols = symbols, .misalignment = misalignment});
  }
  Executable compiled(const Options& options = kQuickly) const {
    return compile(graph, host_device(), options);
  }
  /// The same file with other kernels in it.
  void change(const std::function<void(SavedKernels&)>& change) const {
    const std::string text = text_in(path);
    const auto bytes = std::as_bytes(std::span(text));
    const SavedExecutable saved = read_saved(bytes, path);
    SavedKernels kernels = read_kernels(saved, 0, path);
    change(kernels);
    const std::vector<SavedSection> sections = {{.name = "program", .bytes = pack(saved.program)},
                                                {.name = kernels.arch, .bytes = pack(kernels)}};
    const std::vector<std::byte> file = pack_saved_file(sections);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()),
               static_cast<std::streamsize>(file.size()));
  }
  std::string load_error() const {
    return error_of([&] { load(path, host_device()); });
  }

  const Graph graph = norm();
  ScratchFolder folder;
  std::string path = folder.path() + "/norm.sinterx";
};

TEST_F(Saved, ServesNewSizesOfAClassWithoutPlanning) {
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

TEST_F(Saved, RefusesSizesThatItHasNoKernelsFor) {
  const Executable executable = compiled();
  executable.prepare({{"rows", 8}, {"n", 64}}, Views::written);
  executable.save(path);
  const Executable loaded = load(path, host_device());
  EXPECT_THAT(error_of([&] { run(loaded, 8, 70000); }),
              AllOf(StartsWith("norm: " + path + " has no kernels for [rows = 8, n = 70000]: n = "),
                    HasSubstr("70000 is not "),
                    EndsWith("; it has those of the classes of [rows = 8, n = 64]. Prepare such "
                             "sizes before it is saved, or load it with options.compiles_missing "
                             "where there is a compiler")));
  EXPECT_THAT(error_of([&] {
                loaded.prepare({{"rows", 8}, {"n", 70000}});
              }),
              StartsWith("norm: " + path + " has no kernels for [rows = 8, n = 70000]: "));
  run(loaded, 7, 64);  // it goes on
}

TEST_F(Saved, CompilesOtherSizesWhereItIsAllowedTo) {
  const Executable executable = compiled();
  executable.prepare({{"rows", 8}, {"n", 64}}, Views::written);
  executable.save(path);
  const Executable loaded =
      load(path, host_device(), {.compiles_missing = true, .options = kQuickly});
  expect_equal(run(loaded, 3, 20000), run(executable, 3, 20000));
  EXPECT_THAT(loaded.report().variants, SizeIs(2));
}

TEST_F(Saved, KeepsTheNumericsThatItWasSavedWith) {
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

TEST_F(Saved, TellsPointersApartAsFarAsItMust) {
  const Executable executable = compiled();
  const HostArrays expected = run(executable, 8, 64, /*misalignment=*/4);
  executable.save(path);
  // Kernels for pointers to any element take those to vectors too.
  const Executable loaded = load(path, host_device());
  expect_equal(run(loaded, 8, 64, 4), expected);
  expect_equal(run(loaded, 8, 64), expected);
  expect_equal(run(loaded, 8, 64), expected);
  EXPECT_THAT(loaded.report().variants, SizeIs(2)) << "once for each alignment";

  const Executable aligned = compiled();
  run(aligned, 8, 64);
  aligned.save(path);
  const Executable loaded_aligned = load(path, host_device());
  EXPECT_THAT(error_of([&] { run(loaded_aligned, 8, 64, 4); }),
              HasSubstr(": a pointer is a multiple of 4 bytes, not of 16; "));
}

TEST_F(Saved, HasTheSchedulesThatWereChosen) {
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
    EXPECT_EQ(here.kernels[i].tuning, "candidate 1 was asked for");
  }
  EXPECT_EQ(here.recorded_ops, there.recorded_ops);
  EXPECT_EQ(here.variants[0].guards, there.variants[0].guards);
  EXPECT_EQ(here.variants[0].reason,
            "loaded from " + path + ", saved by sinter " + std::string(sinter_version()));
  const Executable default_one = compiled();
  run(default_one, 8, 64);
  EXPECT_NE(default_one.report().kernels[0].schedule, here.kernels[0].schedule);
}

/// The text form has letters, digits and _ in names; users have what they like.
TEST_F(Saved, KeepsNamesOfAnyKind) {
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

TEST_F(Saved, IsProfiledLikeAnyOther) {
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

/// Runs in a process of its own, started by the test after it.
TEST(SavedElsewhere, DISABLED_Run) {
  const std::string folder = std::getenv("SINTER_TEST_SAVED");
  const Graph graph = parse(text_in(folder + "/graph.sinter"));
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
  const std::string got = text_in(folder.path() + "/y");
  ASSERT_EQ(got.size(), bytes.size());
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(got)), bytes));
}

TEST_F(Saved, SaysWhatCannotBeSaved) {
  const Executable executable = compiled();
  EXPECT_THAT(error_of([&] { executable.save(path); }),
              StartsWith("save norm: there are no kernels yet; prepare the sizes that it is to be "
                         "loaded with (rows, n), or run them, first (compiled at "));
  EXPECT_FALSE(fs::exists(path));
  executable.prepare({{"rows", 8}, {"n", 64}});
  const auto archs_error = [&](const std::string& arch) {
    return error_of([&] { executable.save(path, {.archs = {"host", arch}}); });
  };
  EXPECT_THAT(archs_error("sm_1"),
              AllOf(StartsWith("save norm: options.archs has sm_1, which is no architecture and no "
                               "GPU that sinter knows; those are host, sm_90, h200, "),
                    HasSubstr(", t4 (compiled at ")));
  EXPECT_THAT(archs_error("host"), StartsWith("save norm: options.archs has host twice; name one "
                                              "GPU of each architecture (compiled at "));
  EXPECT_FALSE(fs::exists(path));
  const std::string nowhere = folder.path() + "/no/such/folder";
  EXPECT_THAT(error_of([&] { executable.save(nowhere); }),
              StartsWith("save norm: " + nowhere + " cannot be written: No such file"));
  executable.save(path);
  const Executable loaded = load(path, host_device());
  EXPECT_THAT(error_of([&] { loaded.save(path + "2"); }),
              StartsWith("save norm: it was loaded from " + path + "; copy that file ("));
}

/// Each machine tunes for itself; one file has it all.
TEST_F(Saved, TakesWhatWasTunedElsewhere) {
  const Executable executable = compiled();
  executable.prepare({{"rows", 8}, {"n", 64}});
  const std::string other = folder.path() + "/other.sinterx";
  executable.save(path);
  change([](SavedKernels& kernels) { kernels.arch = "sm_90"; });
  fs::rename(path, other);
  executable.save(path, {.tuned_elsewhere = {other}});
  const std::string text = text_in(path);
  const SavedExecutable saved = read_saved(std::as_bytes(std::span(text)), path);
  EXPECT_EQ(saved.archs, (std::vector<std::string>{"host", "sm_90"}));
  EXPECT_EQ(pack(read_kernels(saved, 1, path)).size(),
            pack(read_kernels(saved, 0, path)).size() + 1);
  EXPECT_EQ(load_error(), "(nothing thrown)");

  const auto save_error = [&](const Executable& what) {
    return error_of([&] { what.save(other, {.tuned_elsewhere = {path}}); });
  };
  EXPECT_THAT(
      save_error(executable),
      StartsWith("save norm: options.tuned_elsewhere has " + path +
                 ", with kernels for host, which are there already; leave one of them out"));
  Options fast = kQuickly;
  fast.math = Math::fast;
  const Executable another = compiled(fast);
  another.prepare({{"rows", 8}, {"n", 64}});
  EXPECT_THAT(save_error(another), StartsWith("save norm: options.tuned_elsewhere has " + path +
                                              ", which is another program (norm); save this one "));
}

TEST_F(Saved, SaysWhatCannotBeLoaded) {
  EXPECT_EQ(load_error(), "load: " + path + " cannot be read: No such file or directory");
  std::ofstream(path) << "#!/bin/sh\n";
  EXPECT_EQ(load_error(),
            "load: " + path + " is no executable that sinter saved: write one with save");
  const Executable executable = compiled();
  executable.prepare({{"rows", 8}, {"n", 64}});
  executable.save(path);
  change([](SavedKernels& kernels) { kernels.arch = "sm_90"; });
  EXPECT_THAT(load_error(),
              AllOf(StartsWith("load: " + path + " has kernels for sm_90, and none for "),
                    EndsWith(" (host); save it with options.archs = {\"host\"}")));
  executable.save(path);
  change([](SavedKernels& kernels) { kernels.machine = "x86-64-v9"; });
  EXPECT_THAT(load_error(),
              HasSubstr(" was saved on processors of the kind x86-64-v9, this one is "));
  executable.save(path);
  change([](SavedKernels& kernels) { kernels.stamp = "another"; });
  EXPECT_THAT(load_error(), HasSubstr(" has kernels for another build of the host device"));
  executable.save(path);
  change([](SavedKernels& kernels) {
    kernels.variants[0].variant.kernels[0].source.entry = "another";
  });
  EXPECT_THAT(error_of<DriverError>([&] { load(path, host_device()); }),
              AllOf(StartsWith("load: " + path + ": kernel another, saved for host: "),
                    HasSubstr("no kernel another in the module")));
  host::clear_error();
}

/// Kernels are code: what others may have written is not run.
TEST_F(Saved, IsNotLoadedWhereOthersCouldWrite) {
  const Executable executable = compiled();
  executable.prepare({{"rows", 8}, {"n", 64}});
  executable.save(path);
  EXPECT_EQ(load_error(), "(nothing thrown)");
  fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(load_error(), "load: " + path +
                              " can be written by others, so that the code in it could be "
                              "anybody's; if you know that it is what you saved, run chmod go-w " +
                              path);
}

/// Each call that loading makes fails in turn: each is told, and the next attempt works.
TEST_F(Saved, SurvivesAFailingDriver) {
  const Executable executable = compiled();
  executable.prepare({{"rows", 8}, {"n", 64}});
  executable.save(path);
  for (const char* call : {"cuModuleLoadData", "cuModuleGetFunction"}) {
    host::inject_fault(call, 1, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_THAT(error_of<DriverError>([&] { load(path, host_device()); }),
                AllOf(StartsWith("load: " + path + ": kernel norm_"), HasSubstr(call)));
    EXPECT_EQ(load_error(), "(nothing thrown)");
  }
}

TEST_F(Saved, MayReplaceAFileThatIsInUse) {
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
}  // namespace sinter::test
