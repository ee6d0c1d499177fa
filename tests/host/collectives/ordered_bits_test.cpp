// Ordered reductions over ranks: the same bits on any number of ranks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "ir/collectives/collective_node.h"
#include "ir/oracle/random_inputs.h"
#include "ir/types/element.h"
#include "sinter/text.h"
#include "tests/support/doubles/thread_communicator.h"
#include "tests/support/run/run.h"

namespace sinter::test::ordered_bits_test {
namespace {

constexpr std::int64_t kPieces = 12;
const Options kQuickly = {.tune = Tune::off, .optimize_host = false};

class OrderedBits : public testing::TestWithParam<std::tuple<RankReduction, DType>> {
 protected:
  RankReduction reduction() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }

  /// Pieces [kPieces, elements] with zeros of both signs, infinities and a NaN in some columns.
  HostArray pieces(std::int64_t elements) const {
    HostArray all(dtype(), {kPieces, elements});
    const Graph graph = parse(fmt::format("graph g(x: {}[{}, {}]) {{\n  return x\n}}\n",
                                          name(dtype()), kPieces, elements));
    all = random_inputs(graph, {}, 3).at("x");
    if (!is_floating(dtype())) return all;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    for (std::int64_t row = 0; row < kPieces; ++row) {
      const auto set = [&](std::int64_t column, double value) {
        if (column < elements) all.set_real_at(row * elements + column, value);
      };
      set(1, -0.0);
      set(2, row % 3 == 0 ? 0.0 : -0.0);
      if (row == 5) set(3, kInfinity);
      if (row == 7) set(4, std::numeric_limits<double>::quiet_NaN());
      if (row == 8) set(5, row % 2 == 0 ? -kInfinity : kInfinity);
    }
    return all;
  }

  /// The results of all ranks, each of which has a part of the pieces.
  std::vector<HostArray> reduced(const HostArray& all, int ranks, const RunRequest& request) const {
    const std::int64_t own = kPieces / ranks;
    const std::int64_t elements = all.shape()[1];
    Graph graph("pieces");
    const Tensor x = graph.input("x", dtype(), {own, elements});
    graph.output("y", all_reduce(x, {.name = "data", .size = ranks},
                                 {.reduction = reduction(), .axis = 0}));
    std::vector<HostArray> results(static_cast<std::size_t>(ranks));
    on_every_rank(ThreadGroup::of(ranks), ranks, [&](int rank, const Communicator& communicator) {
      HostArray part(dtype(), {own, elements});
      const std::size_t bytes = part.bytes().size();
      std::ranges::copy(all.bytes().subspan(static_cast<std::size_t>(rank) * bytes, bytes),
                        part.bytes().begin());
      RunRequest with_ranks = request;
      if (ranks > 1) with_ranks.communicators = {{"data", communicator}};
      results[static_cast<std::size_t>(rank)] =
          run_graph(parse(print(graph)), host_device(rank), {{"x", part}}, with_ranks)
              .results.at("y");
    });
    return results;
  }
};

TEST_P(OrderedBits, AreThoseOfOneRank) {
  Options unfused = kQuickly;
  unfused.fuse = false;
  // 0 bytes, a gather, and an exchange of parts, whose length 3 and 4 ranks do not divide.
  for (const std::int64_t elements : {0, 7, 6'001}) {
    SCOPED_TRACE(elements);
    const HostArray all = pieces(elements);
    const HostArray alone = reduced(all, 1, {.options = kQuickly}).front();
    for (const int ranks : {2, 3, 4}) {
      if (elements == 0 && ranks != 3) continue;
      SCOPED_TRACE(ranks);
      std::vector<RunRequest> requests = {{.options = kQuickly}};
      if (ranks == 3 && elements == 7)
        requests = {{.options = kQuickly, .as_graph = true}, {.options = unfused}};
      for (const RunRequest& request : requests)
        for (const HostArray& result : reduced(all, ranks, request))
          EXPECT_TRUE(equal_bits(result, alone));
    }
  }
}

std::string name_of(const testing::TestParamInfo<std::tuple<RankReduction, DType>>& test) {
  return fmt::format("{}_{}", to_string(std::get<0>(test.param)), name(std::get<1>(test.param)));
}

INSTANTIATE_TEST_SUITE_P(Reductions, OrderedBits,
                         testing::Combine(testing::Values(RankReduction::sum, RankReduction::prod,
                                                          RankReduction::max, RankReduction::min,
                                                          RankReduction::mean),
                                          testing::Values(f32, bf16, i32)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Sums, OrderedBits,
                         testing::Combine(testing::Values(RankReduction::sum, RankReduction::mean),
                                          testing::Values(f16, f64, u8)),
                         name_of);

}  // namespace
}  // namespace sinter::test::ordered_bits_test
