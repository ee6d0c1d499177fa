// Small files that describe large models: the import ends soon, with an error or a model.
#include "tests/onnx/models/model_builder.h"

#include <deque>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::test::limits_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

onnx::NodeProto call_of(std::string_view function, std::string_view output) {
  onnx::NodeProto call = node(function, {"x"}, {output});
  call.domain = "my";
  return call;
}

onnx::FunctionProto function_of(std::string_view name, std::vector<onnx::NodeProto> nodes) {
  onnx::FunctionProto function;
  function.name = name;
  function.domain = "my";
  function.input = {"x"};
  function.output = {"y"};
  function.node = std::move(nodes);
  function.opset_import.emplace_back().version = 17;
  return function;
}

/// Each function calls the previous one twice.
TEST(OnnxLimits, FunctionsThatDoubleTheModel) {
  constexpr int kLevels = 30;
  std::deque<std::string> names = {"f0"};
  ModelBuilder builder;
  builder.input("x", {2}).opset(1, "my");
  // A node with a long list counts as many nodes, so that the limit is reached soon.
  onnx::NodeProto costly = node("Neg", {"x"}, {"y"});
  costly.output.resize(25'600);
  builder.model.functions.push_back(function_of("f0", {costly}));
  for (int level = 1; level < kLevels; ++level) {
    const std::string& previous = names.back();
    names.push_back("f" + std::to_string(level));
    builder.model.functions.push_back(
        function_of(names.back(), {call_of(previous, "unused"), call_of(previous, "y")}));
  }
  builder.add(call_of(names.back(), "y")).output("y");
  EXPECT_THAT(
      builder.error(),
      HasSubstr("the model: with all functions inlined and loops unrolled, it has more than 2^20 "
                "nodes"));
}

/// All calls of a function share the constants in it.
TEST(OnnxLimits, ConstantsOfFunctionsAreOneWeight) {
  ModelBuilder builder;
  builder.input("x", {2}).opset(1, "my").add(call_of("Scale", "a"));
  onnx::NodeProto second = call_of("Scale", "b");
  second.input = {"a"};
  builder.add(second).output("b");
  builder.model.functions.push_back(function_of(
      "Scale",
      {node("Constant", {}, {"k"}, {tensor_attribute("value", real_tensor("", {2}, {3, 4}))}),
       node("Mul", {"x", "k"}, {"y"})}));
  const onnx::ImportedModel model = builder.import();
  ASSERT_EQ(model.weights.size(), 1U);
  EXPECT_EQ(model.weights[0].name, "k");
}

/// The rank of a Gather is that of both inputs together, less one.
TEST(OnnxLimits, RanksThatDouble) {
  std::deque<std::string> names = {"start"};
  ModelBuilder builder;
  builder.initializer(integer_tensor("start", {1, 1}, {0}));
  for (int i = 0; i < 40; ++i) {
    const std::string& previous = names.back();
    names.push_back("g" + std::to_string(i));
    builder.add("Gather", {previous, previous}, {names.back()});
  }
  builder.output(names.back());
  EXPECT_THAT(builder.error(), HasSubstr("(ai.onnx.Gather): "));
}

/// Beyond the limit, values are computed at run time.
TEST(OnnxLimits, EvaluatedElements) {
  constexpr int kNodes = 3000;
  std::deque<std::string> names = {"start"};
  ModelBuilder builder;
  builder.initializer(integer_tensor("start", {4096}, std::vector<std::int64_t>(4096, 5)));
  for (int i = 0; i < kNodes; ++i) {
    const std::string& previous = names.back();
    names.push_back("m" + std::to_string(i));
    builder.add("Mul", {previous, "one"}, {names.back()});
  }
  builder.initializer(integer_tensor("one", {1}, {1})).output(names.back());
  EXPECT_THAT(builder.text(), HasSubstr("= mul "));
}

TEST(OnnxLimits, AnErrorListsThousandProblems) {
  ModelBuilder builder;
  std::deque<std::string> names;
  for (int i = 0; i < 1200; ++i)
    builder.add("Neg", {"none"}, {names.emplace_back("n" + std::to_string(i))});
  builder.output("n0");
  const std::string error = builder.error();
  EXPECT_THAT(error, StartsWith("the model cannot be imported, because of 1200 problems:\n"));
  EXPECT_THAT(error, EndsWith("\n  and 200 more"));
}

}  // namespace
}  // namespace sinter::test::limits_test
