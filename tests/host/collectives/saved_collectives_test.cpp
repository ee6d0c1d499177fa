// Saved programs with collectives: every rank loads them. Damaged calls are errors.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/host/saved/saved_fixture.h"
#include "tests/support/doubles/thread_communicator.h"
#include "tests/support/doubles/two_step_engine.h"

namespace sinter::test::saved_collectives_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class SavedCollectives : public Saved {
 protected:
  /// Two sums of fixed sizes, a gather, and kernels with a symbol.
  static Graph ranks() {
    return parse(R"(
graph ranks(a: f32[30], b: f32[40], c: f32[4], x: f32[n, 4]) {
  s = all_reduce a {group = "data", ranks = 2, reduction = "sum"}
  t = all_reduce b {group = "data", ranks = 2, reduction = "sum"}
  g = all_gather c {group = "data", ranks = 2}
  y = mul x, c
  return s, t, g, y
})",
                 "ranks.sinter");
  }
  /// Compiles and saves it for n = 8.
  Executable save(const Options& options = kQuickly) const {
    const Executable executable = compile(ranks(), host_device(), options);
    executable.prepare({{"n", 8}}, Views::written);
    executable.save(path);
    return executable;
  }
  /// The results of both ranks for n = 8, and the sizes of the collectives.
  std::vector<HostArrays> run_both(const std::vector<Executable>& executables,
                                   std::vector<std::int64_t>& sizes,
                                   std::int64_t misalignment = 0) const {
    const Graph program = ranks();
    const std::vector<std::int64_t> symbols = symbols_for(program, {{"n", 8}});
    const std::shared_ptr<ThreadGroup> group = ThreadGroup::of(2);
    std::vector<HostArrays> results(2);
    on_every_rank(group, 2, [&](int rank, const Communicator& communicator) {
      const auto index = static_cast<std::size_t>(rank);
      results[index] =
          run_executable(executables[index], program, random_inputs(program, symbols, index + 1),
                         {.symbols = symbols,
                          .misalignment = misalignment,
                          .communicators = {{"data", communicator}}});
    });
    sizes.clear();
    for (const CarriedCollective& one : group->carried()) sizes.push_back(one.elements);
    return results;
  }
  /// Runs it on one rank, for n = 8.
  static void run_alone(const Executable& executable, int runs) {
    const Graph program = ranks();
    const std::vector<std::int64_t> symbols = symbols_for(program, {{"n", 8}});
    run_executable(executable, program, random_inputs(program, symbols, 1),
                   {.symbols = symbols,
                    .communicators = {{"data", two_step_communicator()}},
                    .runs = runs});
  }
  /// Changes the description of the first call, and returns the error of loading the file.
  std::string error_after(const std::function<void(CallDescription&)>& damage) const {
    save();
    change([&](SavedKernels& kernels) { damage(kernels.variants[0].calls[0].call); });
    return load_error();
  }
};

OpaqueAttribute& attribute_of(CallDescription& call, std::string_view name) {
  return *std::ranges::find(call.attributes, name, &OpaqueAttribute::name);
}

TEST_F(SavedCollectives, MatchTheSavedExecutable) {
  const Executable executable = save();
  const Executable loaded = load(path, host_device());
  std::vector<std::int64_t> sizes, loaded_sizes;
  const std::vector<HostArrays> expected = run_both({executable, executable}, sizes);
  const std::vector<HostArrays> actual = run_both({loaded, executable}, loaded_sizes);
  EXPECT_THAT(sizes, ElementsAre(70, 4));
  EXPECT_EQ(loaded_sizes, sizes);
  for (std::size_t rank = 0; rank < 2; ++rank) expect_equal(actual[rank], expected[rank]);
}

// Else ranks that find their variant in the file would issue other calls than ranks that compile it.
TEST_F(SavedCollectives, MissingVariantsHaveTheBucketsOfTheFile) {
  Options options = kQuickly;
  options.bucket_bytes = 0;
  save(options);
  const LoadOptions compiles = {.compiles_missing = true, .options = kQuickly};
  const Executable loaded = load(path, host_device(), compiles);
  std::vector<std::int64_t> sizes;
  run_both({loaded, loaded}, sizes, /*misalignment=*/4);
  EXPECT_THAT(sizes, ElementsAre(30, 40, 4));
  EXPECT_THAT(loaded.report().variants, SizeIs(2));
}

TEST_F(SavedCollectives, DamagedCallsAreErrors) {
  EXPECT_THAT(error_after([](CallDescription& call) { attribute_of(call, "ranks").number = Literal::of(-1); }),
              HasSubstr("its group has -1 ranks"));
  EXPECT_THAT(error_after([](CallDescription& call) { attribute_of(call, "reduction").text = "sun"; }),
              HasSubstr("there is no reduction sun; save the program again"));
  EXPECT_THAT(error_after([](CallDescription& call) { call.outputs[0].shape = {60}; }),
              HasSubstr("rejects this call: its operand has 70 elements and its result 60, which 2 "
                        "ranks cannot have"));
  const std::string group_of_three = error_after(
      [](CallDescription& call) { attribute_of(call, "ranks").number = Literal::of(3); });
  EXPECT_EQ(group_of_three, "(nothing thrown)");  // only a Context knows the communicator
  EXPECT_THAT(error_of([&] { run_alone(load(path, host_device()), 1); }),
              HasSubstr("group data has 3 ranks, but its communicator has 2"));
}

// The graph and the kernels of the file name the group.
TEST_F(SavedCollectives, CallsOfAnUnknownGroupAreErrors) {
  save();
  change([](SavedKernels& kernels) {
    attribute_of(kernels.variants[0].calls[0].call, "group").text = "daten";
  });
  const Executable loaded = load(path, host_device());
  EXPECT_THAT(error_of([&] { run_alone(loaded, 1); }),
              HasSubstr("all_reduce: the program has no group \"daten\"; save it again"));
}

// A rank would change to kernels with other buckets when its own background is done.
TEST_F(SavedCollectives, ProgramsWithCollectivesAreNotSpecialized) {
  Options options = kQuickly;
  options.specialize = 2;
  const Executable executable = compile(ranks(), host_device(), options);
  run_alone(executable, 4);
  executable.await_background();
  EXPECT_THAT(executable.report().variants, SizeIs(1));
}

}  // namespace
}  // namespace sinter::test::saved_collectives_test
