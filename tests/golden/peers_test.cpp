// The scripts of the peers that sinter is compared with. They measure the same work in the same
// way, and a failed case does not affect others. The tests need neither a GPU nor a peer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/suite/graph_size.h"
#include "runtime/support/process.h"
#include "tests/support/files/command.h"
#include "tests/support/files/scratch_folder.h"

namespace sinter::test::peers_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kPeers = SINTER_SOURCE_DIR "/bench/peers/";

/// The start of a command line that runs Python with NumPy; empty if there is none. SINTER_NUMPY is
/// the folder that tools/setup found, if python3 does not find NumPy itself.
std::string python() {
  const std::string line = "PYTHONPATH=\"$SINTER_NUMPY\" python3 -B ";
  if (find_program("python3").empty()) return {};
  return run_command(line + "-c 'import numpy'", std::filesystem::current_path()).exit_code == 0
             ? line
             : std::string();
}

class PeersTest : public testing::Test {
 protected:
  void SetUp() override {
    if (python().empty()) GTEST_SKIP() << "there is no python3 with NumPy";
  }
  /// Runs a script in the folder of the peers.
  CommandResult run(const std::string& words, const std::string& variables = {}) const {
    return run_command(variables + python() + "'" + kPeers + words,
                       std::filesystem::current_path());
  }
  /// Runs a program that imports modules of the peers.
  CommandResult run_text(const std::string& text, const std::string& words = {},
                         const std::string& variables = {}) const {
    return run_command(variables + python() + "- " + words +
                           " <<'END'\nimport sys\nsys.path[:0] = [\"" + kPeers +
                           "\", \"" SINTER_SOURCE_DIR "/bench/suite\"]\n" + text + "END",
                       std::filesystem::current_path());
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  /// {"CASE SYSTEM": "STATUS: REASON"} of a file of results.
  std::map<std::string, std::string> outcomes(const std::string& file) const {
    std::map<std::string, std::string> found;
    const json results = json::parse(std::ifstream(path(file)));
    for (const json& row : results["rows"])
      found[row["case"].get<std::string>() + " " + row["system"].get<std::string>()] =
          row["reason"].is_null()
              ? row["status"].get<std::string>()
              : row["status"].get<std::string>() + ": " + row["reason"].get<std::string>();
    return found;
  }

 private:
  ScratchFolder folder_;
};

TEST_F(PeersTest, TheirFormulasAgreeWithTheOracle) {
  const CommandResult result = run("check_formulas.py'");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("81 of 81 formulas agree with the oracle"));
}

/// Python and C++ implement the same rule, which `bench/README.md` describes.
TEST_F(PeersTest, MeasureGraphsOfTheSizeOfOurs) {
  const CommandResult result = run_text(R"(
import common, timing
suite = common.Suite()
for case in suite.cases:
    op = suite.op(case)
    sets = timing.sets_of(op, case, 60 << 20)
    print(case["bytes"], op["kernels"], sets, timing.calls_of(op, case, sets))
)");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  std::istringstream lines(result.output);
  int seen = 0;
  for (std::int64_t bytes, kernels, sets, calls; lines >> bytes >> kernels >> sets >> calls;
       ++seen) {
    const int of_one = static_cast<int>(kernels);
    EXPECT_EQ(suite::sets_of(bytes, std::int64_t{60} << 20, of_one), sets) << bytes;
    EXPECT_EQ(suite::calls_of(bytes, static_cast<int>(sets), of_one), calls) << bytes;
    EXPECT_LE(calls * kernels, 2 * suite::kMaxKernels) << bytes;
    EXPECT_EQ(calls % sets, 0) << bytes;
  }
  EXPECT_GT(seen, 300);
}

TEST_F(PeersTest, SlowCallsAreRepeatedLessOften) {
  const CommandResult result = run_text(R"(
import timing
for us in (10, 1000, 100000):
    counts = timing.CallCounts(us)
    print(counts.in_graph(1000, 7), counts.in_stream(), counts.one_by_one(), counts.together())
)");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output,
            "1001 50 200 1000\n"
            "105 20 100 200\n"
            "7 3 5 5\n");
}

TEST_F(PeersTest, AreTimedAfterTheSameWork) {
  const CommandResult result = run_text(R"(
import common, timing
order = []

class Peer(common.System):
    def elapsed_us(self, work):
        order.append("start")
        work()
        order.append("stop")
        return 5

runner = common.Runner(Peer(), common.Suite(), common.arguments_of(["--device", "cpu"]))
runner.timed(runner.suite.cases[0], "L", lambda i: order.append("call"), None, 2, timing.CallCounts(1))
print(*order)
)");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  const std::string once = "call call start call call stop";
  EXPECT_EQ(result.output, once + " " + once + "\n");
}

TEST_F(PeersTest, CallsWithoutCaptureAreMeasuredInStreams) {
  const CommandResult result = run_text(
      R"(
import common

class Peer(common.System):
    name = "peer"

    def arrays(self, inputs):
        return {one.name: one.whole() for one in inputs}

    def function(self, op, case):
        return lambda arrays: {"y": arrays["x"] * 0.75}

    def to_numpy(self, array):
        return array

    def synchronize(self):
        pass

    def captured(self, call, calls):
        raise RuntimeError("not while a stream is captured")

sys.exit(common.main("peer", lambda arguments: Peer()))
)",
      "--device cpu --tiny --only scale_f32 --json '" + path("peer.json") + "'");
  EXPECT_EQ(result.exit_code, 1) << result.output;
  const json results = json::parse(std::ifstream(path("peer.json")));
  for (const json& row : results["rows"]) {
    if (row["case"] != "scale_f32_tiny") continue;
    EXPECT_EQ(row["status"], row["mode"] == "K" ? "failed" : "ok") << row;
  }
  EXPECT_THAT(result.output,
              HasSubstr("peer K failed: RuntimeError: not while a stream is captured\n"));
}

/// A peer in NumPy. Some of its ops fail in ways in which a GPU may fail.
constexpr const char* kPeer = R"(
import os, time
import numpy as np
import common, timing
from formulas import FORMULAS
from checking import FLOAT64
from operations import ArrayOps
timing.MAX_CALL_US = 20_000

class Peer(common.System):
    name, fuses, broken = "peer", True, False

    def arrays(self, inputs):
        return {one.name: one.whole().astype(FLOAT64[one.dtype]) for one in inputs}

    def function(self, op, case):
        def call(arrays):
            self.try_device()
            if case["name"] == "silu_mul_f32_tiny":
                self.broken = True
                raise RuntimeError("illegal address")
            if case["name"] == "add_f16_tiny":
                raise RuntimeError("of no consequence")
            if case["name"] == "axpby_relu_f32_tiny":
                time.sleep(0.1)
            results = FORMULAS[case["op"]](ArrayOps(np, FLOAT64, np.float64), **arrays)
            return {name: result + (case["name"] == "add_f32_tiny") for name, result in results.items()}
        return call

    def to_numpy(self, array):
        return array

    def synchronize(self):
        self.try_device()

    def try_device(self):
        if self.broken:
            raise RuntimeError("the GPU is gone\nand more")

    def release(self):
        self.try_device()

sys.exit(common.main("peer", lambda arguments: Peer()))
)";

TEST_F(PeersTest, AFailedCaseDoesNotAffectOthers) {
  const std::string words = "--device cpu --tiny --modes L --json '" + path("peer.json") + "' ";
  const CommandResult result =
      run_text(kPeer, words + "--only scale_f32,add_f,axpby_relu_f32,silu,latency");
  EXPECT_EQ(result.exit_code, 4) << result.output;
  const std::string behind =
      "not_run: the device no longer works after silu_mul_f32_tiny: RuntimeError: the GPU is gone";
  auto rows = outcomes("peer.json");
  EXPECT_EQ(rows["scale_f32_tiny peer"], "ok");
  EXPECT_THAT(rows["add_f32_tiny peer"], HasSubstr("wrong: the worst error is "));
  EXPECT_EQ(rows["add_f16_tiny peer"], "failed: RuntimeError: of no consequence");
  EXPECT_THAT(rows["axpby_relu_f32_tiny peer"],
              testing::MatchesRegex("not_run: one call takes 1.. ms; the limit is 20 ms"));
  EXPECT_EQ(rows["silu_mul_f32_tiny peer"], "failed: RuntimeError: illegal address");
  EXPECT_EQ(rows["silu_mul_bf16_tiny peer"], behind);
  EXPECT_EQ(rows["latency5_f32_tiny peer"], behind);

  const CommandResult rest =
      run_text(kPeer, words + "--only silu,latency --after silu_mul_f32_tiny");
  EXPECT_EQ(rest.exit_code, 0) << rest.output;
  rows = outcomes("peer.json");
  EXPECT_EQ(rows.count("silu_mul_f32_tiny peer"), 0U);
  EXPECT_EQ(rows["silu_mul_bf16_tiny peer"], "ok");
  EXPECT_EQ(rows["latency1_f32_tiny peer"], "ok");
  EXPECT_EQ(rows["latency5_f32_tiny peer"],
            "missing: each op must be a launch, but this system would fuse them");
}

TEST_F(PeersTest, AStoppedProgramReportsItsProgress) {
  std::string text = kPeer;
  const std::string fails = "raise RuntimeError(\"of no consequence\")";
  text.replace(text.find(fails), fails.size(), "os._exit(9)");
  const CommandResult result =
      run_text(text, "--device cpu --tiny --modes L --only scale_f32,add_f --json '" +
                         path("peer.json") + "'");
  EXPECT_EQ(result.exit_code, 9) << result.output;
  auto rows = outcomes("peer.json");
  EXPECT_EQ(rows["scale_f32_tiny peer"], "ok");
  EXPECT_EQ(rows["add_f16_tiny peer"], "failed: it did not end");
  EXPECT_EQ(rows["transpose_add_f32_tiny peer"], "not_run: the program was stopped earlier");
}

TEST_F(PeersTest, APeerThatDoesNotStartHasFailed) {
  const CommandResult result = run_text(R"(
import common
def make(arguments):
    raise RuntimeError("no backend")
sys.exit(common.main("peer", make))
)",
                                        "--tiny --only add_f32 --json '" + path("peer.json") + "'");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output, "peer does not start: RuntimeError: no backend\n");
  EXPECT_EQ(outcomes("peer.json")["add_f32_tiny peer"], "failed: RuntimeError: no backend");
}

TEST_F(PeersTest, UninstalledLibrariesAreReportedAsMissing) {
  const CommandResult result = run("torch_libraries.py' quack --tiny --only softmax_bf16 --json '" +
                                   path("quack.json") + "'");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  const json results = json::parse(std::ifstream(path("quack.json")));
  EXPECT_EQ(results["schema"], "sinter-bench-1");
  ASSERT_EQ(results["rows"].size(), 2U);
  for (const json& row : results["rows"]) {
    EXPECT_EQ(row["status"], "missing");
    EXPECT_THAT(row["reason"], HasSubstr("No module named"));
  }
}

TEST_F(PeersTest, MistakesAreReported) {
  const CommandResult modes = run("torch_eager.py' --modes X");
  EXPECT_EQ(modes.exit_code, 2);
  EXPECT_THAT(modes.output, HasSubstr("argument --modes: 'X' are not some of K, L and E"));
  const CommandResult after = run("torch_eager.py' --tiny --only scale_f32 --after nothing");
  EXPECT_EQ(after.exit_code, 1);
  EXPECT_EQ(after.output,
            "--after nothing: it is not one of the 2 chosen cases; --list shows them\n");
}

/// Replaces cub_peer by a script that prints the same lines without a GPU.
constexpr const char* kCub = R"(
import os, pathlib
import cub
peer = pathlib.Path(os.environ["PEER"])
peer.write_text("""#!/bin/sh
while read -r name op rest; do
  case "$name $AT" in
    "$at dies") printf '{"case": "%s", "sys' $name; kill -SEGV $$;;
    "$at breaks") echo '{"system": "cub", "problem": "misaligned"}'
                  echo '{"done": true}'; echo "misaligned address" >&2; exit 4;;
    "$at hangs") exec sleep 100;;
    "$at stops") exit 0;;
  esac
  [ $op = - ] ||
    echo '{"system": "cub", "mode": "K", "times": [2, 3, 4], "asynchronous_us": 0, "worst_error": '$WORST'}'
  echo '{"system": "memcpy", "mode": "K", "times": [2, 3, 4], "asynchronous_us": 0, "worst_error": -1}'
  echo '{"done": true}'
done
""".replace("$at", "add_bf16_tiny"))
peer.chmod(0o755)
cub.program = lambda folder: str(peer)
sys.exit(cub.main())
)";

TEST_F(PeersTest, CubResultsAreReadUpToItsEnd) {
  const std::string words =
      "--tiny --modes K --only add_f,add_b --json '" + path("cub.json") + "' --seconds 50";
  const auto run_cub = [&](const std::string& at, const std::string& worst = "0.5") {
    return run_text(kCub, words,
                    "AT=" + at + " WORST=" + worst + " PEER='" + path("cub_peer") + "' timeout " +
                        (at == "hangs" ? "5 " : "50 ") + "env ");
  };
  EXPECT_EQ(run_cub("no").exit_code, 0);
  auto rows = outcomes("cub.json");
  EXPECT_EQ(rows["add_bf16_tiny cub"], "ok");
  EXPECT_EQ(rows["add_f16_tiny cub"], "missing: CUB has no algorithm for it");
  EXPECT_EQ(rows["add_f16_tiny memcpy"], "ok");

  EXPECT_EQ(run_cub("no", "1e30").exit_code, 1);
  EXPECT_EQ(outcomes("cub.json")["add_f32_tiny cub"],
            "wrong: the worst error is 1e+30 times the allowed error");

  EXPECT_EQ(run_cub("dies").exit_code, 4);
  rows = outcomes("cub.json");
  EXPECT_EQ(rows["add_f32_tiny cub"], "ok");
  EXPECT_EQ(rows["add_bf16_tiny cub"], "failed: cub_peer ended with -11");
  EXPECT_EQ(rows["add_f16_tiny memcpy"], "not_run: cub_peer ended within add_bf16_tiny");

  EXPECT_EQ(run_cub("breaks").exit_code, 4);
  rows = outcomes("cub.json");
  EXPECT_EQ(rows["add_bf16_tiny memcpy"], "failed: misaligned");
  EXPECT_EQ(rows["add_f16_tiny cub"],
            "not_run: the device no longer works after add_bf16_tiny: misaligned address");

  EXPECT_EQ(run_cub("stops").exit_code, 0);
  EXPECT_EQ(outcomes("cub.json")["add_bf16_tiny cub"], "not_run: the limit of 50 s was reached");

  EXPECT_EQ(run_cub("hangs").exit_code, 124);
  rows = outcomes("cub.json");
  EXPECT_EQ(rows["add_f32_tiny memcpy"], "ok");
  EXPECT_EQ(rows["add_bf16_tiny cub"], "failed: it did not end");
}

}  // namespace
}  // namespace sinter::test::peers_test
