// bench/gpu.sh on a machine without a usable GPU: it ends, reports the missing parts, and writes
// the same files as on a GPU machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/support/process.h"
#include "tests/support/files/command.h"
#include "tests/support/files/read_text.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::test::gpu_script_test {
namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

class GpuScript : public testing::Test {
 protected:
  void SetUp() override {
    if (command_path().empty()) GTEST_SKIP() << "this build has no command";
    if (find_program("python3").empty()) GTEST_SKIP() << "there is no python3";
  }

  CommandResult run(const std::string& arguments) const {
    return run_command("export CUDA_VISIBLE_DEVICES= SINTER_BIN='" +
                           command_path().parent_path().string() +
                           "'\nbash '" SINTER_SOURCE_DIR "/bench/gpu.sh' " + arguments,
                       std::filesystem::current_path());
  }
  std::string folder() const { return folder_.path(); }
  std::string out() const { return folder_.path() + "/out"; }

 private:
  ScratchFolder folder_;
};

TEST_F(GpuScript, ReportsMissingPartsWithoutAGpu) {
  const CommandResult result =
      run("'" + out() + "' --only tests bench:softmax peers:quack host:record --seconds 60");
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(result.output, HasSubstr("gpu: there is no GPU to use: "));
  const json results = json::parse(std::ifstream(out() + "/results.json"));
  EXPECT_NE(results["gpu_problem"], "");
  EXPECT_EQ(results["parts"], json({"tests", "bench:softmax", "peers:quack", "host:record"}));
  std::map<std::string, json> steps;
  for (const json& step : results["steps"]) steps[step["name"]] = step;
  for (const char* const name : {"gpu_tests", "digits", "bench"}) {
    EXPECT_EQ(steps[name]["exit"], json()) << name;
    EXPECT_EQ(steps[name]["note"], "no GPU") << name;
  }
  // A missing peer is not started, so it takes no time from other parts.
  EXPECT_THAT(result.output, AnyOf(HasSubstr("gpu: missing: quack: python3 has no module quack\n"),
                                   HasSubstr("gpu: missing: quack: python3 has no NumPy\n")));
  EXPECT_EQ(steps.count("quack"), 0U);
  EXPECT_EQ(results["host"].size(), 1U);
  for (const json& host : results["host"]) EXPECT_FALSE(host["benchmarks"].empty());
  const std::string text = read_text(out() + "/report.md");
  EXPECT_THAT(text, HasSubstr("**There is no GPU to use: "));
  EXPECT_THAT(text, HasSubstr("| gpu_tests | not run | 0 | no GPU |"));
  EXPECT_TRUE(std::filesystem::exists(out() + "/logs.tar.gz"));
}

/// Stubs of our programs and NVIDIA's. Each prints some text and ends as its script says.
class GpuScriptOfStubs : public GpuScript {
 protected:
  void SetUp() override {
    GpuScript::SetUp();
    std::filesystem::create_directory(stubs());
    stub("nvidia-smi", "echo 'Some GPU'");
    stub("suite_bench", "echo \"$@\"");
    stub("sinter", "echo \"nvrtc   13.0, $SINTER_NVRTC\"");
    stub("digits", "true");
    stub("compute-sanitizer", "echo \"$@\"");
  }
  std::string stubs() const { return folder() + "/bin"; }
  void stub(const std::string& name, const std::string& script) const {
    const std::filesystem::path file = stubs() + "/" + name;
    std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
  /// Stubs the tests `Gpu.NAME`. Each runs the shell command that `tests` maps its name to.
  void stub_tests(const std::map<std::string, std::string>& tests) const {
    std::string names;
    std::string script;
    for (const auto& [name, does] : tests) {
      names += "  " + name + "  # GetParam() = (of something)\\n";
      script += "case $* in *Gpu." + name + "*)\n  name=Gpu." + name +
                "\n  echo \"[ RUN      ] $name\"\n  " + does +
                "\n  echo \"[       OK ] $name (1 ms)\";;\nesac\n";
    }
    stub("sinter_gpu_tests",
         "if [ \"$1\" = --gtest_list_tests ]; then printf 'Running main()\\nGpu.\\n" + names +
             "'; exit; fi\nfailed() { echo \"[  FAILED  ] $name, where (1 ms)\"; exit 1; }\n"
             "skipped() { printf 'a.cpp:1: Skipped\\n%s\\n\\n[  SKIPPED ] %s (0 ms)\\n' \"$1\" "
             "$name; }\n" +
             script);
  }
  CommandResult run_stubs(const std::string& arguments) const {
    return run_command("unset SINTER_NVRTC CUDA_HOME\nexport SINTER_CUDA_PREFIX='" + folder() +
                           "/cuda' PYTHONPATH='" + folder() +
                           "/site' SINTER_PATIENCE=2 SINTER_BIN='" + stubs() + "' PATH=\"" +
                           stubs() + ":$PATH\"\nbash '" + root + "/bench/gpu.sh' '" + out() + "' " +
                           arguments,
                       std::filesystem::current_path());
  }
  json results() const { return json::parse(std::ifstream(out() + "/results.json")); }
  std::string report() const { return read_text(out() + "/report.md"); }

  std::string root = SINTER_SOURCE_DIR;
};

TEST_F(GpuScriptOfStubs, EveryPartIsRun) {
  stub_tests({{"Adds", "failed"}});
  stub("digits", "sleep 30");
  const CommandResult result = run_stubs("--only tests sanitizer bench:softmax --seconds 30");
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_EQ(results()["gpu"], "Some GPU");
  EXPECT_EQ(results()["gpu_problem"], "");
  std::map<std::string, json> exits;
  const json all = results();
  for (const json& step : all["steps"]) exits[step["name"]] = step["exit"];
  const std::map<std::string, json> expected = {
      {"gpu_tests", 1},       {"bench", 0},           {"digits", 124},
      {"memcheck_tests", 0},  {"memcheck_suite", 0},  {"racecheck_tests", 0},
      {"racecheck_suite", 0}, {"initcheck_tests", 0}, {"initcheck_suite", 0}};
  EXPECT_EQ(exits, expected);
  EXPECT_THAT(result.output, HasSubstr("gpu: gpu_tests: exit 1 after "));
  EXPECT_THAT(result.output, HasSubstr(" (stopped after its "));
  EXPECT_THAT(report(), HasSubstr("--tool racecheck --error-exitcode 99"));
  EXPECT_THAT(report(), HasSubstr("gpu_tests: 0 of 1 passed, 1 failed, in 1 processes"));
}

/// A GPU error affects only its process: a fresh process runs the following tests.
TEST_F(GpuScriptOfStubs, ABrokenTestDoesNotAffectOthers) {
  stub_tests({{"Adds", "true"},
              {"Breaks", "echo CUDA_ERROR_ILLEGAL_ADDRESS; failed"},
              {"Dies", "kill -SEGV $$"},
              {"Hangs", "exec sleep 30"},
              {"Runs", "true"},
              {"Saves", "true"}});
  const CommandResult result = run_stubs("--only tests --seconds 60");
  EXPECT_EQ(result.exit_code, 1) << result.output;
  std::map<std::string, std::string> outcomes;
  const json all = results();
  for (const json& test : all["gpu_tests"]["tests"]) outcomes[test["name"]] = test["result"];
  const std::map<std::string, std::string> expected = {
      {"Gpu.Adds", "passed"}, {"Gpu.Breaks", "failed"}, {"Gpu.Dies", "died"},
      {"Gpu.Hangs", "hung"},  {"Gpu.Runs", "passed"},   {"Gpu.Saves", "passed"}};
  EXPECT_EQ(outcomes, expected);
  EXPECT_EQ(all["gpu_tests"]["passed"], 3);
  EXPECT_EQ(all["gpu_tests"]["hung"], 1);
  EXPECT_THAT(report(),
              HasSubstr("gpu_tests: Gpu.Breaks failed: CUDA_ERROR_ILLEGAL_ADDRESS (gpu_t"));
  EXPECT_THAT(report(), HasSubstr("gpu_tests: Gpu.Dies died: ended by signal 11 (gpu_tests_"));
  EXPECT_THAT(report(), HasSubstr("gpu_tests: Gpu.Hangs hung: it printed nothing for too long (g"));
  EXPECT_THAT(result.output, HasSubstr("3 of 6 passed, 1 failed, 1 died, 1 hung, in "));
}

/// A test that needs two GPUs may be skipped. A test that finds no GPU at all is a problem.
TEST_F(GpuScriptOfStubs, OnlyATestOfTwoGpusMayBeSkipped) {
  stub_tests({{"Adds", "true"}, {"Two", "skipped 'there are no two CUDA devices'; exit"}});
  const CommandResult two = run_stubs("--only tests --seconds 60");
  EXPECT_EQ(two.exit_code, 0) << two.output;
  EXPECT_THAT(two.output, HasSubstr(" (gpu_tests: 1 of 2 passed, 1 skipped, in "));
  stub_tests({{"Adds", "true"}, {"One", "skipped 'there is no CUDA device'; exit"}});
  const CommandResult one = run_stubs("--only tests --seconds 60");
  EXPECT_EQ(one.exit_code, 1) << one.output;
  EXPECT_THAT(report(), HasSubstr("gpu_tests: Gpu.One skipped: there is no CUDA device\n"));
}

TEST_F(GpuScriptOfStubs, TestsPastTheTimeLimitAreNamed) {
  stub_tests({{"Adds", "true"}, {"Waits", "while sleep 0.2; do echo; done"}});
  stub("digits", "true");
  const CommandResult result = run_stubs("--only tests --seconds 18");
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(report(), HasSubstr("gpu_tests: Gpu.Waits stopped: no time was left (gpu_tests_"));
  EXPECT_EQ(results()["steps"][0]["exit"], 124);
}

/// If no variable selects an NVRTC, the script searches for one whose output the driver accepts.
TEST_F(GpuScriptOfStubs, NvrtcComesFromTheToolkitOrTheWheel) {
  const auto library = [&](const std::string& name) {
    const std::filesystem::path file = folder() + "/" + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << "a library";
    return file.string();
  };
  // A copy of the script, because tools/setup next to the real one says where NVRTC is.
  root = folder();
  std::filesystem::create_directory(root + "/bench");
  std::filesystem::copy(SINTER_SOURCE_DIR "/bench/gpu.sh", root + "/bench/gpu.sh");
  const std::string wheel = library("site/nvidia/cu13/lib/libnvrtc.so.13");
  stub("nvidia-smi", "echo 'CUDA Version: 13.0'");
  const std::string look = "--only host:none --seconds 15";
  EXPECT_THAT(run_stubs(look).output, HasSubstr("gpu: NVRTC: 13.0, " + wheel + "\n"));
  const std::string newer = library("cuda-13.0/lib64/libnvrtc.so.13");
  stub("nvidia-smi", "echo 'CUDA Version: 12.8'");
  EXPECT_THAT(run_stubs(look).output, Not(AnyOf(HasSubstr(wheel), HasSubstr(newer))))
      << "a driver rejects the output of a newer NVRTC";
  stub("nvidia-smi", "echo 'CUDA Version: 13.0'");
  const std::string older = library("cuda-12.9/lib64/libnvrtc.so.12");
  EXPECT_THAT(run_stubs(look).output, HasSubstr("gpu: NVRTC: 13.0, " + newer + "\n"));
  stub("nvidia-smi", "echo 'CUDA Version: 12.8'");
  EXPECT_THAT(run_stubs(look).output, HasSubstr("gpu: NVRTC: 13.0, " + older + "\n"));
  EXPECT_EQ(results()["nvrtc"], "13.0, " + older);
}

TEST_F(GpuScriptOfStubs, AMissingNvrtcIsReportedOnce) {
  stub("sinter", "echo 'nvrtc   missing: NVRTC libnvrtc.so.13 cannot be opened'");
  const CommandResult result = run_stubs("--only tests bench --seconds 15");
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(result.output, HasSubstr("gpu: no kernel can be compiled: NVRTC is missing: NVRTC "
                                       "libnvrtc.so.13 cannot be opened\n"));
  EXPECT_THAT(result.output, HasSubstr("gpu: gpu_tests: not run (no NVRTC)\n"));
  EXPECT_THAT(report(), HasSubstr("**No kernel can be compiled: NVRTC is missing"));
}

constexpr const char* kSuiteStub = R"(
case "$*" in *add_f32_tiny*) exit 0;; *--list*) for name in add scale softmax sum; do echo "$name other"; done; exit;; esac
while [ $# -gt 0 ]; do
  case $1 in --after) after=$2;; --json) json=$2;; esac
  shift
done
for name in add scale softmax sum; do
  if [ -n "$after" ]; then [ $name = $after ] && after=; continue; fi
  case $name in
    scale) echo "scale failed: CUDA_ERROR_MISALIGNED_ADDRESS"
           echo "softmax not_run: the device no longer works after scale"; code=4; break;;
    softmax) exec sleep 30;;
  esac
  echo "$name K sinter 1 us"
done
if [ -n "$json" ]; then printf '{"rows": []\n}\n' >$json; fi
exit $code)";

TEST_F(GpuScriptOfStubs, ABrokenCaseDoesNotAffectOthers) {
  stub("suite_bench", kSuiteStub);
  const CommandResult result = run_stubs("--only bench --seconds 60");
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_EQ(results()["results"].size(), 2U) << "the process that was stopped wrote none";
  EXPECT_THAT(report(), HasSubstr("scale failed: CUDA_ERROR_MISALIGNED_ADDRESS\n"
                                  "softmax not_run: the device no longer works after scale\n"
                                  "gpu_bench: softmax: printed nothing for 2 s\n"
                                  "sum K sinter 1 us\n"));
}

TEST_F(GpuScriptOfStubs, ABrokenCaseOfAPeerDoesNotAffectOthers) {
  stub("python3",
       "case \"$*\" in *find_spec*torch*) exit 0;; *bench/peers/torch_eager.py*) ;; *) exec " +
           find_program("python3") + " \"$@\";; esac\n" + kSuiteStub);
  const CommandResult result = run_stubs("--only peers:torch_eager --seconds 60");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  const json found = results();
  EXPECT_EQ(found["steps"][0]["name"], "torch_eager");
  EXPECT_EQ(found["steps"][0]["exit"], 125) << "a case was silent";
  EXPECT_EQ(found["results"].size(), 2U);
}

TEST_F(GpuScript, UnknownPartsAreRejected) {
  const CommandResult result = run("'" + out() + "' --only everything");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("Usage: bench/gpu.sh OUT_DIR [--only PART"));
  EXPECT_FALSE(std::filesystem::exists(out()));
}

}  // namespace
}  // namespace sinter::test::gpu_script_test
