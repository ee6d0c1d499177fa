// The interface of a graph: its slots, and the steps that solve symbols from bound shapes.
#include "runtime/binding/interface.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinter/sinter.h"
#include "tests/support/files/errors.h"

namespace sinter::interface_test {
namespace {

using ::testing::ElementsAre;

constexpr Location kHere{.file = "some/model.cpp", .line = 42};

std::vector<std::string> step_texts(const Interface& interface) {
  std::vector<std::string> texts;
  for (const SolveStep& step : interface.steps)
    texts.push_back(interface.symbols[static_cast<std::size_t>(step.symbol)] + " from " +
                    to_string(step.equation.extent) + " of " +
                    to_string(interface.slots[static_cast<std::size_t>(step.equation.slot)]));
  return texts;
}

TEST(Interface, ListsInputsScalarsAndOutputsInOrder) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {4});
  const Tensor lr = graph.scalar("lr", f32);
  graph.output("y", x * lr);
  graph.update(x, x + 1.0);
  const Interface interface = interface_of(graph, kHere);
  std::vector<std::string> slots;
  for (const Slot& slot : interface.slots)
    slots.push_back(to_string(slot) + (slot.is_written ? " written" : ""));
  EXPECT_THAT(slots, ElementsAre("input x written", "scalar lr", "output y written"));
  EXPECT_EQ(interface.compiled_at, "model.cpp:42");
}

TEST(Interface, SolvesSymbolsFromTheFirstAxisThatHasOneUnknown) {
  Graph graph("g");
  const Extent rows = graph.extent("rows");
  const Extent columns = graph.extent("columns");
  const Tensor x = graph.input("x", f32, {rows * columns});
  const Tensor y = graph.input("y", f32, {columns * 2 + 1});
  graph.output("z", sum(x) + sum(y));
  EXPECT_THAT(step_texts(interface_of(graph, kHere)),
              ElementsAre("columns from columns * 2 + 1 of input y",
                          "rows from columns * rows of input x"));
}

TEST(Interface, UsesOutputsOnlyForUnsolvedSymbols) {
  Graph graph("g");
  const Extent n = graph.extent("n");
  const Extent m = graph.extent("m");
  const Tensor x = graph.input("x", f32, {n});
  graph.output("y", x * 2.0);
  graph.output("i", iota(graph, m));
  EXPECT_THAT(step_texts(interface_of(graph, kHere)),
              ElementsAre("n from n of input x", "m from m of output i"));
}

TEST(Interface, RejectsUnsolvableSymbols) {
  Graph graph("g");
  const Extent n = graph.extent("n");
  graph.output("y", sum(iota(graph, n)));
  EXPECT_EQ(test::error_of([&] { interface_of(graph, kHere); }),
            "compile g: the size n does not follow from the shape of any input or output; give an "
            "input an axis of that extent (compiled at model.cpp:42)");
}

TEST(Interface, RejectsGraphsWithoutOutputs) {
  Graph graph("g");
  graph.input("x", f32, {4});
  EXPECT_EQ(test::error_of([&] { interface_of(graph, kHere); }),
            "compile g: the graph has no output and no update, so there is nothing to compute; "
            "record one with graph.output (compiled at model.cpp:42)");
}

/// Each equation becomes solvable after the next input's. The time must stay linear in the length.
TEST(Interface, SolvesLongChainsInLinearTime) {
  constexpr int kLength = 20000;
  Graph graph("chain");
  std::vector<Extent> symbols;
  for (int i = 0; i < kLength; ++i) symbols.push_back(graph.extent("s" + std::to_string(i)));
  for (int i = 0; i < kLength; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Extent extent = i + 1 < kLength ? symbols[at] + symbols[at + 1] : symbols[at];
    graph.input("x" + std::to_string(i), f32, {extent});
  }
  graph.output("y", graph.input("z", f32, {symbols.back()}) + 1);
  const Interface interface = interface_of(graph, {});
  ASSERT_EQ(interface.steps.size(), std::size_t{kLength});
  for (int i = 0; i < kLength; ++i)
    ASSERT_EQ(interface.steps[static_cast<std::size_t>(i)].symbol, kLength - 1 - i);
}

}  // namespace
}  // namespace sinter::interface_test
