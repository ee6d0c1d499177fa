// The command with NVRTC: PTX, registers and spills for any architecture, without a GPU.
#include "runtime/compile/nvrtc.h"
#include "runtime/saved/saved_file.h"
#include "tests/support/files/command.h"
#include "tests/support/files/json_schema.h"
#include "tests/support/files/read_text.h"
#include "tests/support/files/scratch_folder.h"

#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sinter::test::command_nvrtc_test {
namespace {

constexpr const char* kFolder = SINTER_SOURCE_DIR "/tests/golden/command";

/// The architectures for which a saved program has kernels.
std::vector<std::string> saved_archs(const std::string& path) {
  const std::string bytes = read_text(path);
  std::vector<std::string> archs;
  for (const OpenedSection& section : open_saved_file(std::as_bytes(std::span(bytes))).sections)
    if (section.kind == kKernelsSection.name) archs.push_back(section.name);
  return archs;
}

class CommandNvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    if (command_path().empty()) GTEST_SKIP() << "this build has no command";
    if (!nvrtc().nvrtc) GTEST_SKIP() << nvrtc().reason;
  }
};

TEST_F(CommandNvrtcTest, DumpsPtxForTheArchitecture) {
  const CommandResult result = run_command("sinter dump add.sinter --stage ptx --arch sm_80",
                                           kFolder, CommandNvrtc::machine);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find(".target sm_80"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find(".entry add_"), std::string::npos);
}

TEST_F(CommandNvrtcTest, DumpsCubinsIntoFiles) {
  const ScratchFolder folder;
  const CommandResult result =
      run_command("sinter dump add.sinter --stage cubin --arch sm_80 -o " + folder.path(), kFolder,
                  CommandNvrtc::machine);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(result.output, folder.path() + "/add_0.cubin\n");
  const std::string bytes = read_text(folder.path() + "/add_0.cubin");
  EXPECT_TRUE(
      bytes.starts_with("\x7f"
                        "ELF"));
}

TEST_F(CommandNvrtcTest, CompilesForSeveralArchitecturesAtOnce) {
  const ScratchFolder folder;
  const std::string file = folder.path() + "/softmax.sinterx";
  const CommandResult result =
      run_command("sinter compile softmax.sinter --size rows=64 --arch sm_80,sm_90 -o " + file,
                  kFolder, CommandNvrtc::machine);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("softmax.sinterx: 1 kernel of softmax for sm_80, sm_90, "),
            std::string::npos)
      << result.output;
  EXPECT_EQ(saved_archs(file), (std::vector<std::string>{"sm_80", "sm_90"}));
}

TEST_F(CommandNvrtcTest, ExplainsCompiledKernels) {
  const CommandResult result = run_command("sinter explain softmax.sinter --json --size rows=64",
                                           kFolder, CommandNvrtc::machine);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const nlohmann::json answer = nlohmann::json::parse(result.output);
  EXPECT_FALSE(answer["kernels"].empty());
  // A bundle has no schema.
  if (std::ifstream schema(SINTER_SOURCE_DIR "/runtime/observe/explain.schema.json"); schema) {
    EXPECT_EQ(schema_offences(nlohmann::json::parse(schema), answer), "");
  }
  for (const nlohmann::json& kernel : answer["kernels"]) {
    EXPECT_GT(kernel["registers"], 0);
    EXPECT_EQ(kernel["spill_bytes"], 0);
    EXPECT_GT(kernel["independent_loads"], 0);
    EXPECT_GT(kernel["bytes_in_flight"], 0);
    EXPECT_GT(kernel["compile_ms"], 0.0);
    EXPECT_EQ(kernel["occupancy"].get<double>(),
              kernel["blocks_per_sm"].get<double>() * kernel["threads"].get<double>() / 2048);
    for (const nlohmann::json& array : kernel["arrays"]) {
      EXPECT_TRUE(array["problem"].is_null());
      EXPECT_EQ(array["load_bytes"], array["predicted_load_bytes"]);
      EXPECT_EQ(array["store_bytes"], array["predicted_store_bytes"]);
    }
  }
}

TEST_F(CommandNvrtcTest, ExplainsCompiledKernelsAsText) {
  const CommandResult result =
      run_command("sinter explain add.sinter", kFolder, CommandNvrtc::machine);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  for (const char* const words :
       {"loads of a 16, b 16; stores of c 16", " registers, 0 B spilled; compiled in ",
        " in flight, 2 independent loads per thread"})
    EXPECT_NE(result.output.find(words), std::string::npos) << words << "\n" << result.output;
}

TEST_F(CommandNvrtcTest, CompilesNothingForOpaqueCalls) {
  const CommandResult dumped = run_command("sinter dump mlp.sinter --stage ptx --size rows=64",
                                           kFolder, CommandNvrtc::machine);
  ASSERT_EQ(dumped.exit_code, 0) << dumped.output;
  const std::size_t first = dumped.output.find(".entry mlp_");
  const std::size_t call = dumped.output.find("// mlp_1 calls gemm");
  EXPECT_LT(first, call) << dumped.output;
  EXPECT_NE(call, std::string::npos);
  EXPECT_NE(dumped.output.find(".entry mlp_", call), std::string::npos);

  const CommandResult explained = run_command("sinter explain mlp.sinter --json --size rows=64",
                                              kFolder, CommandNvrtc::machine);
  ASSERT_EQ(explained.exit_code, 0) << explained.output;
  const nlohmann::json kernels = nlohmann::json::parse(explained.output)["kernels"];
  ASSERT_EQ(kernels.size(), 3U);
  EXPECT_GT(kernels[0]["registers"], 0);
  EXPECT_EQ(kernels[1]["kind"], "opaque");
  EXPECT_TRUE(kernels[1]["registers"].is_null());
  EXPECT_GT(kernels[2]["registers"], 0);
}

}  // namespace
}  // namespace sinter::test::command_nvrtc_test
