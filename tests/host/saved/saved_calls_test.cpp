// Saved executables with calls of user functions, which the loading process must register.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "runtime/support/process.h"
#include "tests/host/saved/saved_fixture.h"
#include "tests/support/doubles/opaque.h"

namespace sinter::test::saved_calls_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// Two calls of one function, one with a scalar and one with an attribute, and a function with
/// workspace and an unused result. The number of rows is a symbol.
constexpr const char* kLayers = R"(
graph layers(x: f32[rows, 8], w: f32[8, 6], v: f32[6, 4], scale: f32) {
  a = mul x, 2.0
  h = opaque gemm a, w {alpha = 0.5} : f32[rows, 6]
  r = maximum h, 0.0
  g = opaque gemm r, v, scale : f32[rows, 4]
  b, _ = opaque reversed g : f32[rows, 4], f32[]
  y = add b, 1.0
  return y, h
}
)";

OpaqueFunction reversed_version(std::int64_t version) {
  OpaqueFunction function = reversed();
  function.version = version;
  return function;
}

HostArrays results_of(const Executable& executable, const Graph& graph, std::int64_t rows,
                      bool as_graph, std::int64_t misalignment = 0) {
  const std::vector<std::int64_t> symbols = symbols_for(graph, {{"rows", rows}});
  return run_executable(executable, graph, random_inputs(graph, symbols, /*seed=*/3),
                        {.symbols = symbols, .as_graph = as_graph, .misalignment = misalignment});
}

/// Saves a program, and unregisters its functions afterwards.
class SavedCalls : public ::testing::Test {
 protected:
  void save(const char* text) const {
    const Executable executable = compile(parse(text, "layers.sinter"), host_device(), kQuickly);
    executable.prepare({{"rows", 8}}, Views::written);
    executable.save(path);
  }
  void save_layers() const {
    const Registered product("gemm", gemm());
    const Registered reversing("reversed", reversed_version(2));
    save(kLayers);
  }
  std::string load_error() const {
    return error_of<UserError>([&] { load(path, host_device()); });
  }

  ScratchFolder folder;
  std::string path = folder.path() + "/layers.sinterx";
};

TEST_F(SavedCalls, MatchTheSavedExecutable) {
  const Graph graph = parse(kLayers);
  const Registered product("gemm", gemm());
  const Registered reversing("reversed", reversed());
  const Executable executable = compile(graph, host_device(), kQuickly);
  executable.prepare({{"rows", 8}}, Views::written);
  executable.save(path);
  const std::vector<std::int64_t> before = work();
  const Executable loaded = load(path, host_device());
  for (const std::int64_t rows : {8, 5, 130})
    for (const bool as_graph : {false, true})
      expect_equal(results_of(loaded, graph, rows, as_graph),
                   results_of(executable, graph, rows, as_graph));
  EXPECT_EQ(work(), before);
  const Report there = executable.report(), here = loaded.report();
  ASSERT_EQ(here.kernels.size(), there.kernels.size());
  for (std::size_t i = 0; i < here.kernels.size(); ++i) {
    EXPECT_EQ(here.kernels[i].kind, there.kernels[i].kind);
    EXPECT_EQ(here.kernels[i].nodes, there.kernels[i].nodes);
    EXPECT_EQ(here.kernels[i].bytes_read, there.kernels[i].bytes_read);
  }
}

/// A loaded executable keeps the functions that were registered at load time. Missing variants are
/// compiled with them.
TEST_F(SavedCalls, KeepTheFunctionsOfLoadTime) {
  const Graph graph = parse(kLayers);
  Executable loaded = [&] {
    const Registered product("gemm", gemm());
    const Registered reversing("reversed", reversed());
    save(kLayers);
    return load(path, host_device(), {.compiles_missing = true, .options = kQuickly});
  }();
  const Registered product("gemm", gemm());
  const Registered reversing("reversed", reversed());
  const Executable executable = compile(graph, host_device(), kQuickly);
  unregister_opaque("gemm");
  unregister_opaque("reversed");
  for (const std::int64_t misalignment : {0, 4})
    expect_equal(results_of(loaded, graph, 8, false, misalignment),
                 results_of(executable, graph, 8, false, misalignment));
  EXPECT_THAT(loaded.report().variants, SizeIs(2));
}

TEST_F(SavedCalls, ReportMissingFunctions) {
  save_layers();
  EXPECT_EQ(load_error(),
            "load: " + path +
                " calls gemm, but no function of this name is registered in this process; before "
                "loading it, call register_opaque(\"gemm\", …) with version 0 of the function, "
                "without workspace, as it was saved; it must support these calls: gemm(f32[rows, "
                "8], f32[8, 6]) {alpha = 0.5} : f32[rows, 6]; gemm(f32[rows, 6], f32[6, 4], f32) : "
                "f32[rows, 4]");
  const Registered product("gemm", gemm());
  EXPECT_EQ(load_error(),
            "load: " + path +
                " calls reversed, but no function of this name is registered in this process, only "
                "gemm; before loading it, call register_opaque(\"reversed\", …) with version 2 of "
                "the function, with workspace, as it was saved; it must support these calls: "
                "reversed(f32[rows, 4]) : f32[rows, 4], f32[]");
}

TEST_F(SavedCalls, RequireTheSavedVersion) {
  save_layers();
  const Registered product("gemm", gemm());
  {
    const Registered reversing("reversed", reversed_version(3));
    EXPECT_EQ(load_error(),
              "load: " + path +
                  " calls version 2 of reversed, but version 3 is registered in this process; "
                  "register the version that it was saved with, or save it again with this "
                  "version");
  }
  const Registered reversing("reversed", reversed_version(2));
  EXPECT_EQ(load_error(), "(nothing thrown)");
}

/// A function may check its calls, in compiled and in loaded programs.
TEST_F(SavedCalls, AreCheckedByTheirFunctions) {
  save_layers();
  OpaqueFunction strict = gemm();
  strict.check = [](const OpaqueSizes& sizes) {
    if (sizes.inputs.size() > 2) throw std::invalid_argument("alpha is an attribute of mine");
    if (sizes.inputs[0].shape[0] != 8) throw std::invalid_argument("rows are not 8");
  };
  const Registered product("gemm", strict);
  const Registered reversing("reversed", reversed_version(2));
  EXPECT_THAT(load_error(), AllOf(StartsWith("load: " + path +
                                             ": opaque gemm: its function rejects this call: "
                                             "alpha is an attribute of mine (recorded at "),
                                  EndsWith("layers.sinter:6)")));
  EXPECT_THAT(error_of<UserError>([&] { save(kLayers); }),
              StartsWith("opaque gemm: its function rejects this call: alpha is "));
  constexpr const char* kOne = R"(
graph one(x: f32[rows, 8], w: f32[8, 6]) {
  y = opaque gemm x, w : f32[rows, 6]
  return y
})";
  save(kOne);
  EXPECT_EQ(load_error(), "(nothing thrown)");
}

/// Functions that cannot be captured also split the graphs of loaded programs.
TEST_F(SavedCalls, MaySplitGraphs) {
  const Graph graph = parse(kLayers);
  OpaqueFunction uncaptured = gemm();
  uncaptured.can_capture = false;
  const Registered product("gemm", uncaptured);
  const Registered reversing("reversed", reversed());
  save(kLayers);
  const Executable loaded = load(path, host_device());
  const Executable executable = compile(graph, host_device(), kQuickly);
  expect_equal(results_of(loaded, graph, 9, true), results_of(executable, graph, 9, true));
  const auto is_noted = [](const KernelReport& kernel) {
    return std::ranges::any_of(kernel.notes, [](const std::string& note) {
      return note.starts_with("a replay breaks its CUDA Graph in two around the call: ");
    });
  };
  EXPECT_EQ(std::ranges::count_if(loaded.report().kernels, is_noted), 2);
}

/// Runs in its own process, which the next test starts.
TEST(SavedCallsElsewhere, DISABLED_Run) {
  const std::string folder = std::getenv("SINTER_TEST_SAVED");
  EXPECT_THAT(error_of<UserError>([&] { load(folder + "/graph.sinterx", host_device()); }),
              HasSubstr("call register_opaque(\"gemm\", …)"));
  const Registered product("gemm", gemm());
  const Registered reversing("reversed", reversed());
  const Executable loaded = load(folder + "/graph.sinterx", host_device());
  const HostArrays results = results_of(loaded, parse(kLayers), 12, /*as_graph=*/true);
  std::ofstream out(folder + "/y", std::ios::binary);
  const std::span<const std::byte> bytes = results.at("y").bytes();
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  EXPECT_THAT(work(), ::testing::Each(0));
}

TEST(SavedCallsElsewhere, NeedNoCompiler) {
  const ScratchFolder folder;
  const Graph graph = parse(kLayers);
  const Registered product("gemm", gemm());
  const Registered reversing("reversed", reversed());
  const Executable executable = compile(graph, host_device(), kQuickly);
  executable.prepare({{"rows", 40}}, Views::written);
  executable.save(folder.path() + "/graph.sinterx");

  const std::string nothing = folder.path() + "/nothing";
  const ProcessResult child = run_process(
      std::vector<std::string>{
          "/usr/bin/env", "SINTER_TEST_SAVED=" + folder.path(), "SINTER_HOST_CXX=" + nothing,
          "SINTER_NVRTC=" + nothing, "PATH=" + nothing, "SINTER_CACHE=off",
          fs::read_symlink("/proc/self/exe").string(), "--gtest_also_run_disabled_tests",
          "--gtest_filter=SavedCallsElsewhere.DISABLED_Run"},
      "", std::chrono::minutes(1));
  ASSERT_EQ(child.exit_code, 0) << child.output;
  EXPECT_THAT(child.output, HasSubstr("1 test from 1 test suite ran"));
  const HostArrays expected = results_of(executable, graph, 12, /*as_graph=*/false);
  const std::span<const std::byte> bytes = expected.at("y").bytes();
  const std::string got = read_text(folder.path() + "/y");
  ASSERT_EQ(got.size(), bytes.size());
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(got)), bytes));
}

}  // namespace
}  // namespace sinter::test::saved_calls_test
