// Names that the emitter declares in kernels must be reserved words. Otherwise they would hide a
// value of the same name.
#include "codegen/text/names.h"
#include "ir/text/print.h"
#include "tests/support/files/golden.h"

#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace sinter::test::emitted_names_test {
namespace {

/// Names that come from the graph: values, and inputs, outputs and symbols in any spelling.
std::set<std::string> names_of(const Program& program) {
  const GraphData& graph = program.graph->data();
  const ValueNames values(graph);
  std::set<std::string> names;
  for (const Node* node : graph.nodes)
    if (values.is_live(node)) names.insert(values.of(node));
  for (const ExtentAtom* symbol : graph.extents->symbols()) names.insert(symbol->name);
  return names;
}

/// True for `s`, and for names derived from it: `s_2`, `s_tree`, `s_tree_part`.
bool is_derived(std::string name, const std::set<std::string>& from) {
  static const std::regex suffix("(_[0-9]+|_tree|_tree_.*|_some|_of_rows|_)$");
  for (;;) {
    if (from.contains(name)) return true;
    const std::string shorter = std::regex_replace(name, suffix, "");
    if (shorter == name) return false;
    name = shorter;
  }
}

std::set<std::string> declared_in(const std::string& text) {
  static const std::regex form(
      R"(\b(?:int|long long|bool|unsigned char\*|unsigned\*|Exchange|using)\s+(\w+)\s*(?:=|;|\[))");
  std::set<std::string> names;
  for (std::sregex_iterator match(text.begin(), text.end(), form), end; match != end; ++match)
    names.insert((*match)[1]);
  return names;
}

class EmittedNames : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(EmittedNames, AreReservedUnlessTheGraphGivesThem) {
  const GoldenProgram golden = plan_golden(GetParam());
  const std::set<std::string> given = names_of(golden.program);
  for (const Kernel& kernel : golden.program.kernels)
    for (const Schedule& schedule : kernel.candidates) {
      const std::string text = emit(golden.program, kernel, schedule, kernel.name).text;
      for (const std::string& name : declared_in(text))
        EXPECT_TRUE(is_reserved_word(name) || is_derived(name, given))
            << name << " is declared in\n"
            << text;
    }
}

INSTANTIATE_TEST_SUITE_P(Golden, EmittedNames,
                         testing::ValuesIn(golden_graphs(SINTER_SOURCE_DIR
                                                         "/tests/golden/kernels")),
                         [](const auto& test) { return test.param.stem().string(); });

}  // namespace
}  // namespace sinter::test::emitted_names_test
