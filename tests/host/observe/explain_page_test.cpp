// The explanation page in a browser: it opens without errors and shows the details of selected
// items.
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/support/process.h"
#include "sinter/explain.h"
#include "tests/support/files/command.h"
#include "tests/support/files/scratch_folder.h"
#include "tests/support/graphs/markup_names.h"

namespace sinter::test::explain_page_test {
namespace {

constexpr int kNoBrowser = 77;  // exit code of the script without a browser
constexpr const char* kScript = SINTER_SOURCE_DIR "/tests/explain_page/page.py";

void write_page(const std::string& folder, const std::string& name, const std::string& graph) {
  const CommandResult result =
      run_command("sinter explain --json " + graph + " --html " + folder + "/" + name + ".html > " +
                      folder + "/" + name + ".json",
                  SINTER_SOURCE_DIR "/tests/golden");
  ASSERT_EQ(result.exit_code, 0) << result.output;
}

/// A chain of a thousand ops, with row sums in between.
std::string thousand_ops() {
  std::string text = "graph thousand(x: f32[64, 256]) {\n  v0 = exp x\n";
  for (int i = 1; i < 1000; ++i) {
    const std::string number = std::to_string(i);
    const std::string last = " v" + std::to_string(i - 1);
    if (i % 50 == 0)
      text += "  v" + number + " = sum" + last + " {axes = [1], keep = true}\n";
    else
      text += "  v" + number +
              (i % 50 == 1 ? " = sub x,"
               : i % 2     ? " = tanh"
                           : " = abs") +
              last + "\n";
  }
  return text + "  return v999\n}\n";
}

/// Opaque calls with operands from several others, so that edges cross.
std::string crossing_lines() {
  std::string text = "graph crossing(x: f32[64, 64]) {\n";
  std::string results;
  for (int layer = 0; layer < 2; ++layer)
    for (int i = 0; i < 7; ++i) {
      const std::string operands = layer == 0 ? "x, x" : fmt::format("a{}, a{}", i, (i + 3) % 7);
      text += fmt::format("  {}{} = opaque gemm {} {{alpha = {}.0}} : f32[64, 64]\n",
                          layer == 0 ? 'a' : 'b', i, operands, i + 1);
      if (layer == 1) results += fmt::format("{}b{}", i == 0 ? "" : ", ", i);
    }
  return text + "  return " + results + "\n}\n";
}

TEST(ExplainPageTest, OpensWithoutErrorsAndShowsSelectedItems) {
  if (command_path().empty()) GTEST_SKIP() << "this build has no command";
  if (!std::filesystem::exists(kScript)) GTEST_SKIP() << "a bundle has no script for the browser";
  if (find_program("python3").empty()) GTEST_SKIP() << "there is no python3";
  const ScratchFolder folder;
  write_page(folder.path(), "mlp", "command/mlp.sinter --size rows=1024");
  write_page(folder.path(), "measured",
             "command/softmax.sinter --size rows=64 --measure --device host --quiet");
  write_page(folder.path(), "norm", "run/layer_norm_backward.sinter");
  write_page(folder.path(), "layouts", "run/layouts.sinter");
  std::ofstream(folder.path() + "/view.sinter")
      << "graph view(x: f32[4, 8]) {\n  y = permute x {axes = [1, 0]}\n  return y\n}\n";
  write_page(folder.path(), "view", folder.path() + "/view.sinter");
  std::ofstream(folder.path() + "/thousand.sinter") << thousand_ops();
  write_page(folder.path(), "thousand", folder.path() + "/thousand.sinter");
  std::ofstream(folder.path() + "/crossing.sinter") << crossing_lines();
  write_page(folder.path(), "crossing", folder.path() + "/crossing.sinter");
  std::ofstream(folder.path() + "/hostile.html") << explanation_html(explain(hostile_graph()));

  const std::array<std::string, 3> words = {
      "/bin/sh", "-c", std::string("exec python3 '") + kScript + "' '" + folder.path() + "' 2>&1"};
  const ProcessResult result = run_process(words, folder.path(), std::chrono::minutes(5));
  if (result.exit_code == kNoBrowser) GTEST_SKIP() << result.output;
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

}  // namespace
}  // namespace sinter::test::explain_page_test
