// Damaged models: every change of some bytes gives an error or a model, and never a crash.
#include "sinter/error.h"
#include "tests/onnx/models/model_builder.h"
#include "tests/support/files/read_text.h"

#include <cstdlib>
#include <filesystem>
#include <random>

#include <gtest/gtest.h>

namespace sinter::test::import_fuzz_test {
namespace {

/// Operators of all families on small shapes, with parameters as initialisers.
std::vector<std::string> seed_models() {
  std::vector<std::string> models;
  models.push_back(
      ModelBuilder()
          .input("x", {"batch", 6})
          .initializer(integer_tensor("target", {3}, {0, 2, -1}))
          .initializer(real_tensor("w", {6}, {1, 2, 3, 4, 5, 6}))
          .add("Mul", {"x", "w"}, {"a"})
          .add("Reshape", {"a", "target"}, {"b"})
          .add(node("Softmax", {"b"}, {"c"}, {integer_attribute("axis", -1)}))
          .add(node("Transpose", {"c"}, {"y"}, {integers_attribute("perm", {0, 2, 1})}))
          .output("y")
          .bytes());
  models.push_back(
      ModelBuilder()
          .input("x", {1, 4, 6, 6})
          .initializer(real_tensor("w", {2, 4, 3, 3}, std::vector<float>(72, 0.5F)))
          .add(node("Conv", {"x", "w"}, {"a"}, {integers_attribute("pads", {1, 1, 1, 1})}))
          .add(node("MaxPool", {"a"}, {"b"},
                    {integers_attribute("kernel_shape", {2, 2}),
                     integers_attribute("strides", {2, 2}), integer_attribute("ceil_mode", 1)}))
          .add(node("Flatten", {"b"}, {"y"}, {integer_attribute("axis", 1)}))
          .output("y")
          .bytes());
  models.push_back(
      ModelBuilder()
          .input("x", {"n", 5})
          .initializer(integer_tensor("begin", {2}, {0, 1}))
          .initializer(integer_tensor("end", {2}, {9223372036854775807, -1}))
          .initializer(integer_tensor("axes", {1}, {0}))
          .initializer(integer_tensor("pads", {4}, {0, 1, 0, 2}))
          .initializer(integer_tensor("one", {}, {1}))
          .add("Shape", {"x"}, {"shape"})
          .add("Gather", {"shape", "one"}, {"width"})
          .add("Unsqueeze", {"width", "axes"}, {"widths"})
          .add("Slice", {"x", "begin", "end"}, {"a"})
          .add(node("Pad", {"a", "pads"}, {"b"}, {text_attribute("mode", "reflect")}))
          .add(node("ReduceMean", {"b"}, {"c"}, {integers_attribute("axes", {1})}))
          .add("Expand", {"c", "shape"}, {"y"})
          .add(node("Concat", {"widths", "widths"}, {"z"}, {integer_attribute("axis", 0)}))
          .output("y")
          .output("z")
          .bytes());
  return models;
}

TEST(OnnxFuzz, TheSeedsAreModels) {
  for (const std::string& model : seed_models()) EXPECT_EQ(import_error(model), "");
}

/// Changes some bytes: new values, flipped bits, parts removed or repeated.
class ByteChanger {
 public:
  std::string changed(std::string bytes) {
    for (std::size_t changes = 1 + below(3); changes > 0 && !bytes.empty(); --changes) {
      const std::size_t at = below(bytes.size());
      switch (below(4)) {
        case 0: bytes[at] = static_cast<char>(random_()); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8)); break;
        case 2: bytes.erase(at, 1 + below(8)); break;
        default: bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(16))); break;
      }
    }
    return bytes;
  }

 private:
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  std::mt19937_64 random_{1};
};

TEST(OnnxFuzz, ChangedBytesGiveErrorsOrModels) {
  ByteChanger changer;
  int errors = 0;
  for (const std::string& model : seed_models())
    for (int round = 0; round < 4000; ++round)
      errors += !import_error(changer.changed(model)).empty();
  EXPECT_GT(errors, 1000);
}

/// Models of every operator, if tools/setup could write them.
TEST(OnnxFuzz, ChangedCasesOfOnnxGiveErrorsOrModels) {
  namespace fs = std::filesystem;
  const char* const folder = std::getenv("SINTER_ONNX_CASES");
  if (!folder)
    GTEST_SKIP() << "SINTER_ONNX_CASES is not set; `bash tools/setup tests` writes the cases";
  constexpr std::uintmax_t kLargest = 20'000;
  ByteChanger changer;
  int models = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx" || entry.file_size() > kLargest) continue;
    const std::string model = read_text(entry.path());
    for (int round = 0; round < 30; ++round) import_error(changer.changed(model));
    ++models;
  }
  EXPECT_GT(models, 1000);
}

}  // namespace
}  // namespace sinter::test::import_fuzz_test
