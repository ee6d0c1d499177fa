// Collectives: shapes, messages, text form, values on every rank, and gradients.
#include "sinter/collectives.h"

#include "ir/oracle/ranks/interpret_ranks.h"
#include "ir/record/record.h"
#include "ir/verify/verify.h"
#include "sinter/gradient.h"
#include "sinter/text.h"
#include "sinter/views.h"
#include "tests/support/files/errors.h"
#include "tests/support/graphs/gradient_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::collectives_test {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

const RankGroup kThree = {.name = "data", .size = 3};
const RankGroup kTwo = {.name = "data", .size = 2};

/// The values of the output y on every rank, for the inputs x.
std::vector<Reals> on_ranks(const Graph& graph, const std::vector<HostArray>& xs,
                            const RankGroups& groups = {}) {
  std::vector<HostArrays> named;
  for (const HostArray& x : xs) named.push_back({{"x", x}});
  std::vector<RankInputs> inputs;
  for (const HostArrays& arrays : named) inputs.push_back({.inputs = arrays, .symbols = {}});
  std::vector<Reals> results;
  for (const Interpretation& rank : interpret_ranks(graph.data(), inputs, groups)) {
    const Expected& y = rank.outputs.at("y");
    Reals& values = results.emplace_back();
    for (std::int64_t i = 0; i < y.size(); ++i) values.push_back(y.real(i));
  }
  return results;
}

/// The same for one collective of x, whose shape and dtype is that of the arrays.
template <class Record>
std::vector<Reals> on_ranks(const std::vector<HostArray>& xs, const Record& record) {
  Graph graph("g");
  const std::vector<Extent> shape(xs[0].shape().begin(), xs[0].shape().end());
  graph.output("y", record(graph.input("x", xs[0].dtype(), shape)));
  verify(graph);
  return on_ranks(graph, xs);
}

TEST(Collectives, ShapesOfTheOps) {
  Graph graph("g");
  const Extent rows = graph.extent("rows");
  const Tensor x = graph.input("x", bf16, {rows, 6});
  EXPECT_EQ(type_text(*all_gather(x, kThree).node()), "bf16[rows * 3, 6]");
  EXPECT_EQ(type_text(*all_gather(x, kThree, -1).node()), "bf16[rows, 18]");
  EXPECT_EQ(type_text(*reduce_scatter(x, kThree, 1).node()), "bf16[rows, 2]");
  EXPECT_EQ(type_text(*all_reduce(x, kThree).node()), "bf16[rows, 6]");
  EXPECT_EQ(type_text(*all_reduce(x, kThree, {.axis = 0}).node()), "bf16[6]");
  EXPECT_EQ(type_text(*all_reduce(x, kThree, {.order = Reduce::fast}).node()), "bf16[rows, 6]");
  EXPECT_EQ(type_text(*all_to_all(x, kThree, 1, 0).node()), "bf16[rows * 3, 2]");
  EXPECT_EQ(type_text(*all_to_all(x, kThree, 1, 1).node()), "bf16[rows, 6]");
  EXPECT_EQ(type_text(*broadcast(x, kThree, 2).node()), "bf16[rows, 6]");
  EXPECT_EQ(type_text(*reduce_to(x, kThree, 2).node()), "bf16[rows, 6]");
  EXPECT_EQ(type_text(*send_receive(x, kThree, {{0, 1}}).node()), "bf16[rows, 6]");
  const Tensor n = graph.input("n", i32, {});
  EXPECT_EQ(type_text(*all_reduce(n, kThree).node()), "i32[]");
  EXPECT_EQ(type_text(*all_reduce(n, kThree, {.reduction = RankReduction::mean}).node()), "f32[]");
  verify(graph);
}

TEST(Collectives, OneRankNeedsNoCommunicator) {
  Graph graph("g");
  const RankGroup alone = {.name = "data", .size = 1};
  const Tensor x = graph.input("x", f32, {4, 2});
  EXPECT_EQ(all_gather(x, alone).node(), x.node());
  EXPECT_EQ(broadcast(x, alone).node(), x.node());
  EXPECT_EQ(all_to_all(x, alone).node(), x.node());
  EXPECT_EQ(send_receive(x, alone, {{0, 0}}).node(), x.node());
  graph.output("sum", all_reduce(x, alone, {.axis = 0}));
  graph.output("part", reduce_scatter(x, alone));
  graph.output("none", send_receive(x, alone, {}));
  EXPECT_THAT(print(graph), testing::Not(HasSubstr("group")));
}

TEST(Collectives, TheTextFormIsAFixedPoint) {
  constexpr std::string_view kText = R"(graph g(x: f32[6, 4]) {
  a = all_reduce x {group = "data", ranks = 2, reduction = "max"}
  b = all_gather a {group = "data", ranks = 2}
  c = reduce_scatter b {group = "data", ranks = 2}
  d = broadcast c {group = "data", ranks = 2, root = 1}
  e = reduce_to d {group = "data", ranks = 2}
  f = all_to_all e {group = "data", ranks = 2}
  y = send_receive f {group = "data", ranks = 2, pairs = [1, 0]}
  return y
}
)";
  EXPECT_EQ(print(parse(kText)), kText);
}

TEST(Collectives, TheTextFormHasTheParametersOfTheFunctions) {
  const auto text = [](const char* statement) {
    return print(parse(std::string("graph g(x: f32[6, 4]) {\n  y = ") + statement +
                       "\n  return y\n}\n"));
  };
  EXPECT_THAT(text(R"(all_gather x {group = "data", ranks = 2, axis = 1})"), HasSubstr("permute"));
  EXPECT_THAT(text(R"(all_reduce x {group = "data", ranks = 2, ordered = true})"),
              HasSubstr("all_gather"));
  EXPECT_THAT(text(R"(all_to_all x {group = "data", ranks = 2, split_axis = 1, concat_axis = 0})"),
              HasSubstr("reshape"));
  EXPECT_THAT(
      error_of([&] { text(R"(all_reduce x {group = "data", ranks = 2, reduction = "sun"})"); }),
      HasSubstr("text:2:7: all_reduce: there is no reduction \"sun\"; there are sum, prod, max, min "
                "and mean\n"));
}

TEST(Collectives, MessagesSayWhatToDo) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {5, 4});
  const Operand at(x, "m.cpp", 7);
  EXPECT_EQ(error_of([&] { reduce_scatter(at, kThree); }),
            "reduce_scatter: axis 0 of f32[5, 4] has 5 elements, which are not a multiple of the 3 "
            "ranks; pad it (recorded at m.cpp:7)");
  EXPECT_EQ(error_of([&] { all_to_all(at, kThree, 1); }),
            "all_to_all: axis 1 of f32[5, 4] has 4 elements, which are not a multiple of the 3 ranks; "
            "pad it (recorded at m.cpp:7)");
  const Tensor rows = graph.input("rows", f32, {4, graph.extent("n")});
  EXPECT_EQ(error_of([&] { reduce_scatter(Operand(rows, "m.cpp", 7), kThree, 1); }),
            "reduce_scatter: axis 1 of f32[4, n] has n elements, which may not be a multiple of the "
            "3 ranks; record the axis as a symbol times 3 (recorded at m.cpp:7)");
  EXPECT_EQ(error_of([&] { all_gather(Operand(sum(x), "m.cpp", 7), kThree); }),
            "all_gather: axis 0 is out of range for f32[] of rank 0; it must be in [0, 0) (recorded at "
            "m.cpp:7)");
  EXPECT_EQ(error_of([&] { broadcast(at, kThree, 3); }),
            "broadcast: there is no rank 3 in group data; the ranks are 0 to 2 (recorded at "
            "m.cpp:7)");
  EXPECT_EQ(error_of([&] { all_gather(at, {.name = "", .size = 2}); }),
            "all_gather: the group has no name; give it one (recorded at m.cpp:7)");
  EXPECT_EQ(error_of([&] { all_gather(at, {.name = "data", .size = 0}); }),
            "all_gather: group data has 0 ranks; it must have 1 to 1048576 (recorded at m.cpp:7)");
  EXPECT_EQ(error_of([&] {
              all_reduce(Operand(cast(x, i16), "m.cpp", 7), kThree);
            }),
            "all_reduce: the operand is i16[5, 4]; no communicator reduces i16, so cast it to i32 "
            "(recorded at m.cpp:7)");
  EXPECT_EQ(error_of([&] { send_receive(at, kThree, {{0, 1}, {0, 2}}); }),
            "send_receive: rank 0 sends twice; use two calls (recorded at m.cpp:7)");
  EXPECT_EQ(error_of([&] { send_receive(at, kThree, {{0, 3}}); }),
            "send_receive: there is no rank 3; the ranks are 0 to 2 (recorded at m.cpp:7)");
  all_gather(Operand(x, "m.cpp", 3), kTwo);
  EXPECT_EQ(error_of([&] { all_gather(at, kThree); }),
            "all_gather: group data has 3 ranks here, but 2 in the all_gather that was recorded at "
            "m.cpp:3; give groups of different sizes different names (recorded at m.cpp:7)");
}

TEST(Collectives, ValuesOnEveryRank) {
  const std::vector<HostArray> xs = {array(f32, {3}, {1, 2, 3}), array(f32, {3}, {4, -5, 6}),
                                     array(f32, {3}, {7, 8, 9})};
  const auto all = [](Reals values) { return std::vector<Reals>(3, std::move(values)); };
  const auto reduced = [&](RankReduction reduction, Reduce order) {
    return on_ranks(xs, [&](Tensor x) {
      return all_reduce(x, kThree, {.reduction = reduction, .order = order});
    });
  };
  for (const Reduce order : {Reduce::ordered, Reduce::fast}) {
    EXPECT_EQ(reduced(RankReduction::sum, order), all({12, 5, 18}));
    EXPECT_EQ(reduced(RankReduction::prod, order), all({28, -80, 162}));
    EXPECT_EQ(reduced(RankReduction::max, order), all({7, 8, 9}));
    EXPECT_EQ(reduced(RankReduction::min, order), all({1, -5, 3}));
    EXPECT_EQ(reduced(RankReduction::mean, order)[0][0], 4);
    EXPECT_EQ(on_ranks(xs, [&](Tensor x) { return reduce_scatter(x, kThree, 0, RankReduction::sum, order); }),
              (std::vector<Reals>{{12}, {5}, {18}}));
    EXPECT_EQ(on_ranks(xs,
                       [&](Tensor x) {
                         return all_reduce(x, kThree, {.order = order, .axis = 0});
                       }),
              all({35}));
  }
  EXPECT_EQ(on_ranks(xs, [](Tensor x) { return all_gather(x, kThree); }),
            all({1, 2, 3, 4, -5, 6, 7, 8, 9}));
  EXPECT_EQ(on_ranks(xs, [](Tensor x) { return broadcast(x, kThree, 1); }), all({4, -5, 6}));
  EXPECT_EQ(on_ranks(xs, [](Tensor x) { return reduce_to(x, kThree, 1); }),
            (std::vector<Reals>{{0, 0, 0}, {12, 5, 18}, {0, 0, 0}}));
  EXPECT_EQ(on_ranks(xs, [](Tensor x) { return all_to_all(x, kThree); }),
            (std::vector<Reals>{{1, 4, 7}, {2, -5, 8}, {3, 6, 9}}));
  EXPECT_EQ(on_ranks(xs, [](Tensor x) { return send_receive(x, kThree, {{0, 1}, {1, 2}}); }),
            (std::vector<Reals>{{0, 0, 0}, {1, 2, 3}, {4, -5, 6}}));
}

TEST(Collectives, AxesAreCutAndJoinedWhereTheUserSays) {
  const std::vector<HostArray> xs = {array(f32, {2, 2}, {1, 2, 3, 4}),
                                     array(f32, {2, 2}, {5, 6, 7, 8})};
  EXPECT_EQ(on_ranks(xs, [](Tensor x) { return all_gather(x, kTwo, 1); })[0],
            (Reals{1, 2, 5, 6, 3, 4, 7, 8}));
  EXPECT_EQ(on_ranks(xs, [](Tensor x) { return reduce_scatter(x, kTwo, 1); }),
            (std::vector<Reals>{{6, 10}, {8, 12}}));
  EXPECT_EQ(on_ranks(xs, [](Tensor x) { return all_to_all(x, kTwo, 1, 0); }),
            (std::vector<Reals>{{1, 3, 5, 7}, {2, 4, 6, 8}}));
  EXPECT_EQ(on_ranks(xs, [](Tensor x) { return all_to_all(x, kTwo, 0, 1); }),
            (std::vector<Reals>{{1, 2, 5, 6}, {3, 4, 7, 8}}));
  EXPECT_EQ(on_ranks(xs, [](Tensor x) { return all_to_all(x, kTwo, 1, 1); }),
            (std::vector<Reals>{{1, 5, 3, 7}, {2, 6, 4, 8}}));
}

// An exchange of parts pads an array whose elements the ranks cannot share equally.
TEST(Collectives, OrderedReductionsOfLargeArraysExchangeParts) {
  constexpr std::int64_t kElements = 20'001;
  std::vector<HostArray> xs;
  for (int rank = 0; rank < 3; ++rank) xs.push_back(random({kElements}, -2, 2, 7 + static_cast<std::uint64_t>(rank)));
  Graph graph("g");
  graph.output("y", all_reduce(graph.input("x", f64, {kElements}), kThree));
  EXPECT_THAT(print(graph), HasSubstr("all_to_all"));
  const std::vector<Reals> ys = on_ranks(graph, xs);
  for (const Reals& y : ys) {
    ASSERT_EQ(std::ssize(y), kElements);
    for (std::int64_t i = 0; i < kElements; ++i)
      ASSERT_NEAR(y[static_cast<std::size_t>(i)],
                  xs[0].real_at(i) + xs[1].real_at(i) + xs[2].real_at(i), 1e-14);
  }
}

TEST(Collectives, IntegersWrap) {
  const std::vector<HostArray> xs = {array(i8, {1}, {100}), array(i8, {1}, {100})};
  for (const Reduce order : {Reduce::ordered, Reduce::fast})
    EXPECT_EQ(on_ranks(xs, [&](Tensor x) { return all_reduce(x, kTwo, {.order = order}); })[0],
              Reals{-56});
}

// 1200 * 100 exceeds the range of f16, and 2 * 40000 terms exceed it, too.
TEST(Collectives, MeansOfF16StayInRange) {
  const std::vector<HostArray> xs(2, array(f16, {1200}, Reals(1200, 100)));
  for (const Reduce order : {Reduce::ordered, Reduce::fast}) {
    const AllReduceOptions mean = {.reduction = RankReduction::mean, .order = order, .axis = 0};
    EXPECT_EQ(on_ranks(xs, [&](Tensor x) { return all_reduce(x, kTwo, mean); })[0], Reals{100});
  }
  const RankGroup many = {.name = "data", .size = 70'000};
  Graph graph("g");
  const Tensor x = graph.input("x", f16, {1});
  graph.output("y", all_reduce(x, many, {.reduction = RankReduction::mean, .order = Reduce::fast}));
  EXPECT_THAT(print(graph), HasSubstr(", 70000"));
  EXPECT_THAT(print(graph), HasSubstr("{to = f32}"));
}

TEST(Collectives, BoundsHoldForAnyOrder) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {2});
  graph.output("y", all_reduce(x, kThree, {.order = Reduce::fast}));
  const HostArrays a = {{"x", array(f32, {1e8, 1})}};
  const HostArrays b = {{"x", array(f32, {1, 2})}};
  const HostArrays c = {{"x", array(f32, {-1e8, 3})}};
  const RankInputs ranks[] = {{a, {}}, {b, {}}, {c, {}}};
  const Expected y = interpret_ranks(graph.data(), ranks)[0].outputs.at("y");
  EXPECT_GE(y.bound(0), 1);  // 1e8 + 1 rounds to 1e8
  EXPECT_EQ(y.bound(1), 0);  // every order is exact
}

TEST(Collectives, GroupsHaveRanksOfTheirOwn) {
  Graph graph("g");
  const Tensor x = graph.input("x", f32, {1});
  const Tensor row = all_reduce(x, {.name = "row", .size = 2});
  graph.output("y", all_gather(row, {.name = "column", .size = 2}));
  const std::vector<HostArray> xs = {array(f32, {1}, {1}), array(f32, {1}, {2}),
                                     array(f32, {1}, {4}), array(f32, {1}, {8})};
  const RankGroups mesh = {{"row", {{0, 1}, {2, 3}}}, {"column", {{0, 2}, {1, 3}}}};
  EXPECT_EQ(on_ranks(graph, xs, mesh), std::vector<Reals>(4, {3, 12}));
  EXPECT_THAT(error_of([&] { on_ranks(graph, xs); }),
              HasSubstr("group row has 2 ranks, but the oracle has 4 (recorded at"));
  EXPECT_THAT(error_of([&] { on_ranks(graph, xs, {{"row", {{0, 1}}}, {"column", {{0, 1}}}}); }),
              HasSubstr("rank 2 is in no group row"));
  EXPECT_THAT(error_of([&] { on_ranks(graph, xs, {{"row", {{0, 4}, {1, 2}}}}); }),
              HasSubstr("group row has rank 4, but the program has 4 ranks"));
  EXPECT_THAT(error_of([&] { on_ranks(graph, xs, {{"row", {{0, 1}, {1, 2}}}}); }),
              HasSubstr("rank 1 is in two groups row"));
  const HostArrays inputs = {{"x", xs[0]}};
  EXPECT_THAT(error_of([&] { interpret(graph, inputs, {}); }),
              HasSubstr("the oracle interprets one rank, but group row has 2"));
}

TEST(Collectives, OperandsOfAllRanksHaveOneShape) {
  Graph graph("g");
  const Extent rows = graph.extent("rows");
  graph.output("y", all_gather(graph.input("x", f32, {rows}), kTwo));
  const HostArrays a = {{"x", array(f32, {1, 2})}};
  const HostArrays b = {{"x", array(f32, {1, 2, 3})}};
  const std::int64_t sizes[] = {2, 3};
  const RankInputs ranks[] = {{a, {&sizes[0], 1}}, {b, {&sizes[1], 1}}};
  EXPECT_THAT(error_of([&] { interpret_ranks(graph.data(), ranks); }),
              HasSubstr("all_gather: rank 0 has an operand of shape [2], and rank 1 of shape [3]"));
}

// --- gradients: central differences of the sum of the losses of both ranks -----------------------

/// The loss of one rank: the weighted sum of the result. The ranks weigh differently.
struct RankLoss {
  Graph graph{"loss"};
  Tensor x;

  explicit RankLoss(const std::function<Tensor(Tensor)>& record) {
    x = graph.input("x", f64, {4});
    const Tensor weight = graph.input("w", f64, {});
    const Tensor y = record(x);
    const Tensor places = cast(iota(graph, product(y.shape()), 1), f64) + weight;
    const Tensor loss = sum(y * reshape(sin(places * 1.7), y.shape()));
    graph.output("loss", loss);
    graph.output("dx", gradient(loss, {x})[0]);
    verify(graph);
  }

  std::vector<Interpretation> run(const std::vector<Reals>& xs) const {
    std::vector<HostArrays> named;
    for (std::size_t rank = 0; rank < xs.size(); ++rank)
      named.push_back({{"x", array(f64, {4}, xs[rank])},
                       {"w", array(f64, {}, {static_cast<double>(rank)})}});
    std::vector<RankInputs> inputs;
    for (const HostArrays& arrays : named) inputs.push_back({.inputs = arrays, .symbols = {}});
    return interpret_ranks(graph.data(), inputs);
  }
  double total(const std::vector<Reals>& xs) const {
    double sum = 0;
    for (const Interpretation& rank : run(xs)) sum += rank.outputs.at("loss").reals[0];
    return sum;
  }
};

void expect_gradient(const std::function<Tensor(Tensor)>& record) {
  const RankLoss loss(record);
  const std::vector<Reals> xs = {{0.5, 1.5, -0.75, 2}, {1.25, -2, 0.25, 3}};
  const std::vector<Interpretation> ranks = loss.run(xs);
  constexpr double kStep = 1e-5;
  for (std::size_t rank = 0; rank < xs.size(); ++rank)
    for (std::size_t i = 0; i < 4; ++i) {
      std::vector<Reals> above = xs, below = xs;
      above[rank][i] += kStep;
      below[rank][i] -= kStep;
      EXPECT_NEAR(ranks[rank].outputs.at("dx").reals[i],
                  (loss.total(above) - loss.total(below)) / (2 * kStep), 1e-8)
          << "rank " << rank << ", element " << i;
    }
}

// Communicators reduce no 8-bit floats, so their cotangents are reduced in f32.
TEST(CollectiveGradients, OfMovedEightBitFloats) {
  Graph graph("g");
  const Tensor x = graph.input("x", f8e4m3, {4});
  const Tensor y = cast(all_gather(x, kTwo), f32) + 2.0 * cast(concat({broadcast(x, kTwo), x}, 0), f32);
  graph.output("dx", gradient(sum(y), {x})[0]);
  verify(graph);
  const HostArrays inputs = {{"x", array(f8e4m3, {4}, {1, 2, 3, 4})}};
  const RankInputs ranks[] = {{inputs, {}}, {inputs, {}}};
  const std::vector<Interpretation> results = interpret_ranks(graph.data(), ranks);
  EXPECT_EQ(results[0].outputs.at("dx").reals[0], 1 * 2 + 2 * 2 + 2);  // rank 0 is the root
  EXPECT_EQ(results[1].outputs.at("dx").reals[0], 1 * 2 + 2);
}

TEST(CollectiveGradients, OfReductions) {
  for (const RankReduction reduction : {RankReduction::sum, RankReduction::prod, RankReduction::max,
                                        RankReduction::min, RankReduction::mean})
    for (const Reduce order : {Reduce::ordered, Reduce::fast}) {
      expect_gradient([&](Tensor x) {
        return all_reduce(x, kTwo, {.reduction = reduction, .order = order});
      });
      expect_gradient([&](Tensor x) { return reduce_scatter(x, kTwo, 0, reduction, order); });
    }
}

TEST(CollectiveGradients, OfMoves) {
  expect_gradient([](Tensor x) { return all_gather(x, kTwo); });
  expect_gradient([](Tensor x) { return all_to_all(x, kTwo); });
  expect_gradient([](Tensor x) { return broadcast(x, kTwo, 1); });
  expect_gradient([](Tensor x) { return reduce_to(x, kTwo, 1); });
  expect_gradient([](Tensor x) { return send_receive(x, kTwo, {{0, 1}}); });
  expect_gradient([](Tensor x) { return send_receive(x, kTwo, {{0, 1}, {1, 0}}); });
}

}  // namespace
}  // namespace sinter::collectives_test
