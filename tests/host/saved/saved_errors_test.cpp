// Saved executables: errors while saving, loading and running.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "runtime/driver/host/host_driver.h"
#include "tests/host/saved/saved_fixture.h"
#include "tests/support/graphs/lists.h"

namespace sinter::test::saved_errors_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(Saved, ReportsWhyItCannotBeSaved) {
  const Executable executable = compiled();
  EXPECT_THAT(error_of([&] { executable.save(path); }),
              StartsWith("save norm: there are no kernels yet; first prepare or run the sizes "
                         "(rows, n) that the program will be loaded for (compiled at "));
  EXPECT_FALSE(fs::exists(path));
  executable.prepare({{"rows", 8}, {"n", 64}});
  const auto archs_error = [&](const std::string& arch) {
    return error_of([&] { executable.save(path, {.archs = {"host", arch}}); });
  };
  EXPECT_THAT(archs_error("sm_1"),
              AllOf(StartsWith("save norm: options.archs has sm_1, which is neither an "
                               "architecture nor a GPU that sinter knows; it knows host, sm_90, "
                               "h200, "),
                    HasSubstr(", t4, sm_87, sm_88, sm_103, sm_110, sm_121 (compiled at ")));
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

TEST_F(Saved, ReportsWhyItCannotBeLoaded) {
  EXPECT_EQ(load_error(), "load: " + path + " cannot be read: No such file or directory");
  std::ofstream(path) << "#!/bin/sh\n";
  EXPECT_EQ(load_error(),
            "load: " + path + " is not an executable that sinter saved: write one with save");
  const Executable executable = compiled();
  executable.prepare({{"rows", 8}, {"n", 64}});
  executable.save(path);
  change([](SavedKernels& kernels) { kernels.arch = "sm_90"; });
  EXPECT_THAT(
      load_error(),
      AllOf(StartsWith("load: " + path + " has kernels for sm_90, but none for "),
            EndsWith(
                " (host); save it with options.archs = {\"host\"} (sinter compile --arch host)")));
  executable.save(path);
  change([](SavedKernels& kernels) { kernels.host_machine_level = "x86-64-v9"; });
  EXPECT_THAT(load_error(),
              HasSubstr(" was saved for x86-64-v9 processors, but this machine has "));
  executable.save(path);
  change([](SavedKernels& kernels) { kernels.host_prelude_hash = "another"; });
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

/// Rejected sizes have no side effects: they are rejected again, and other sizes still run.
TEST_F(Saved, WorksAfterRejectedSizes) {
  const Executable executable = compiled();
  executable.prepare({{"rows", 8}, {"n", 64}});
  executable.save(path);
  // From six rows on, the number of rows overflows its parameter.
  change([](SavedKernels& kernels) {
    SavedVariant& saved = kernels.variants[0];
    for (VariantKernel& kernel : saved.variant.kernels)
      for (Argument& argument : kernel.source.arguments)
        if (argument.kind == Argument::Kind::extent && evaluate(argument.extent, saved.sizes) == 8)
          argument.extent =
              argument.extent + floor_div(argument.extent, 6) * Extent(std::int64_t{1} << 40);
  });
  const Device device = host_device();
  const Stream stream = device.stream();
  Context context = load(path, device).context();
  const auto run_rows = [&](std::int64_t rows) {
    const Array x = device.empty(f32, {rows, 64});
    device.upload(x, std::vector<float>(static_cast<std::size_t>(rows * 64), 2.0F), stream);
    const Array bias = device.empty(f32, {64});
    device.upload(bias, std::vector<float>(64, 1.0F), stream);
    const Array total = device.empty(f32, {64});
    device.upload(total, std::vector<float>(64, 0.0F), stream);
    const Outputs outputs =
        context.run(stream, {{"x", x}, {"bias", bias}, {"total", total}, {"rate", 0.5F}});
    return device.download<float>(outputs[0], stream);
  };
  const std::vector<float> expected = run_rows(5);
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(error_of<UserError>([&] { run_rows(8); }),
                HasSubstr(" as const int; its plan does not support these sizes"))
        << i;
  EXPECT_EQ(run_rows(5), expected);
}

TEST_F(Saved, RejectsPlansWithFewerArgumentsThanTheKernel) {
  const Executable executable = compiled();
  executable.prepare({{"rows", 8}, {"n", 64}});
  executable.save(path);
  change([](SavedKernels& kernels) {
    kernels.variants[0].variant.kernels[0].source.arguments.pop_back();
  });
  EXPECT_THAT(error_of<UserError>([&] { load(path, host_device()); }),
              AllOf(StartsWith("load: " + path + " is invalid: kernel norm_"),
                    HasSubstr(" parameters, but the plan has ")));
}

TEST_F(Saved, RejectsPlansWithWiderArgumentsThanTheKernel) {
  const Executable executable = compiled();
  executable.prepare({{"rows", 8}, {"n", 64}});
  executable.save(path);
  change([](SavedKernels& kernels) {
    for (VariantKernel& kernel : kernels.variants[0].variant.kernels)
      for (Argument& argument : kernel.source.arguments)
        if (argument.kind == Argument::Kind::extent) argument.c_type = "const long long";
  });
  EXPECT_THAT(error_of<UserError>([&] { load(path, host_device()); }),
              AllOf(StartsWith("load: " + path + " is invalid: kernel norm_"),
                    HasSubstr(" takes 4 bytes as parameter "), HasSubstr(", but the plan has 8")));
}

TEST_F(Saved, RejectsPlansWithAShorterTableThanTheKernel) {
  const Executable executable = compile(parse(adamw_text(12)), host_device(), kQuickly);
  executable.prepare({});
  executable.save(path);
  change([](SavedKernels& kernels) {
    kernels.variants[0].variant.kernels[0].source.table.pop_back();
  });
  EXPECT_THAT(error_of<UserError>([&] { load(path, host_device()); }),
              AllOf(StartsWith("load: " + path + " is invalid: kernel adamw_"),
                    HasSubstr(" bytes as parameter 0, but the plan has ")));
}

TEST_F(Saved, ValidatesOptionsLikeCompile) {
  const Executable executable = compiled();
  executable.prepare({{"rows", 8}, {"n", 64}});
  executable.save(path);
  EXPECT_EQ(error_of([&] { load(path, host_device(), {.options = {.debug = 5}}); }),
            "options.debug is 5; expected 0, 1, 2, 3 or 4");
}

/// File modes follow the umask, but files are never writable by others.
TEST_F(Saved, RespectsTheUmask) {
  const Executable executable = compiled();
  executable.prepare({{"rows", 8}, {"n", 64}});
  const auto mode_with = [&](mode_t mask) {
    const mode_t before = ::umask(mask);
    executable.save(path);
    ::umask(before);
    struct stat status = {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 0777;
  };
  EXPECT_EQ(mode_with(077), 0600U);
  EXPECT_EQ(mode_with(0), 0644U);
  EXPECT_EQ(mode_with(027), 0640U);
}

TEST_F(Saved, ReportsWhichViewOutputsItsKernelsWrite) {
  const Graph both = parse(R"(
graph both(x: f32[n, 4]) {
  y = exp x
  t = permute y {axes = [1, 0]}
  return y, t
})");
  const Executable executable = compile(both, host_device(), kQuickly);
  executable.prepare({{"n", 8}}, Views::written);
  executable.save(path);
  const Executable whole = load(path, host_device());
  EXPECT_THAT(error_of([&] {
                whole.prepare({{"n", 8}}, Views::returned);
              }),
              HasSubstr("; it has those for the size classes of [n = 8] at multiples of 16 bytes. "
                        "Bind the outputs that one of these classes has, or run it with these "
                        "before "));
  const Executable views = compile(both, host_device(), kQuickly);
  views.prepare({{"n", 8}}, Views::returned);
  views.save(path);
  EXPECT_THAT(error_of([&] {
                load(path, host_device()).prepare({{"n", 8}}, Views::written);
              }),
              HasSubstr(" of [n = 8] at multiples of 16 bytes, without t. Bind the outputs "));
}

/// Kernels are code: files that others could have written are not run.
TEST_F(Saved, RejectsFilesWritableByOthers) {
  const Executable executable = compiled();
  executable.prepare({{"rows", 8}, {"n", 64}});
  executable.save(path);
  EXPECT_EQ(load_error(), "(nothing thrown)");
  fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(load_error(), "load: " + path +
                              " can be written by others, who could have changed the code in it; "
                              "if you know that it is unchanged, run chmod go-w " +
                              path);
}

/// Each driver call of loading fails in turn. The error names it, and the next attempt works.
TEST_F(Saved, WorksAfterDriverFailures) {
  // The program has a cooperative kernel.
  const Executable executable =
      compile(parse(read_text(SINTER_SOURCE_DIR "/tests/golden/run/fused_launch_results.sinter")),
              host_device(), kQuickly);
  executable.prepare({{"n", 1024}});
  executable.save(path);
  int failed = 0;
  for (const char* call :
       {"cuModuleLoadData", "cuModuleGetFunction", "cuFuncGetAttribute", "cuFuncSetAttribute",
        "cuFuncGetParamInfo", "cuOccupancyMaxActiveBlocksPerMultiprocessor",
        "cuOccupancyMaxActiveClusters", "cuDeviceGetAttribute", "cuMemAlloc", "cuMemHostAlloc"}) {
    host::reset_counters();
    load(path, host_device());
    const auto calls = static_cast<int>(host::calls(call));
    for (int nth = 1; nth <= calls; ++nth, ++failed) {
      host::inject_fault(call, nth, CUDA_ERROR_OUT_OF_MEMORY);
      EXPECT_THAT(error_of<DriverError>([&] { load(path, host_device()); }),
                  AllOf(StartsWith("load: " + path + ": kernel "), HasSubstr(call)));
      EXPECT_EQ(load_error(), "(nothing thrown)") << call << " " << nth;
    }
  }
  EXPECT_GE(failed, 4) << "a module, a function, and what a cooperative kernel asks";
}

}  // namespace
}  // namespace sinter::test::saved_errors_test
