// The weights in a saved file: for any bytes, the table fits the graph and the elements, or the
// reader rejects it.
#include "runtime/saved/saved_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <limits>
#include <random>

#include "tests/support/files/saved_bytes.h"

namespace sinter::test::saved_weights_test {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Weights for two inputs of saved_program().
SavedWeights table() {
  return {.table = {{.input = "x", .shape = {20, 96}, .offset = 0, .bytes = 7680},
                    {.input = "t/0", .shape = {96}, .offset = 8192, .bytes = 384},
                    {.input = "rate",
                     .is_number = true,
                     .number = {.kind = Literal::Kind::real, .real = 0.5}}}};
}

Bytes file_with(const Bytes& weights, std::size_t data_bytes) {
  return pack_saved_file(
      std::vector<SavedSection>{{kProgramSection, "", pack(saved_program())},
                                {kWeightsSection, "", weights},
                                {kWeightDataSection, "", Bytes(data_bytes, std::byte{7})}});
}

constexpr std::size_t kDataBytes = 8192 + 384;

TEST(SavedWeights, RoundTrip) {
  const Bytes file = file_with(pack(table()), kDataBytes);
  const SavedExecutable saved = read_saved(file, kPath);
  EXPECT_EQ(pack(saved.weights), pack(table()));
  const std::span<const std::byte> elements = saved.weights.elements_of(saved.weights.table[1]);
  EXPECT_EQ(elements.size(), 384U);
  EXPECT_EQ((elements.data() - file.data()) % kSavedAlignment, 0);
  EXPECT_EQ(elements.data() + 384, file.data() + file.size());
}

/// Each block is made when its turn comes, and begins at a multiple of the alignment.
TEST(SavedWeights, AreWrittenOneByOne) {
  std::vector<int> made;
  const auto block = [&](int number, std::size_t bytes) {
    return [&made, number, bytes] {
      made.push_back(number);
      return Bytes(bytes, static_cast<std::byte>(number));
    };
  };
  const std::vector<SavedSection> sections = {
      {.kind = kWeightDataSection, .blocks = {block(1, 5000), block(2, 0), block(3, 3)}}};
  EXPECT_THAT(made, ElementsAre());
  const Bytes file = pack_saved_file(sections);
  EXPECT_THAT(made, ElementsAre(1, 2, 3));
  const OpenedSavedFile opened = open_saved_file(file);
  ASSERT_EQ(opened.problem, "");
  const std::span<const std::byte> bytes = opened.sections[0].bytes;
  ASSERT_EQ(bytes.size(), 8195U);
  EXPECT_EQ(bytes[4999], std::byte{1});
  EXPECT_EQ(bytes[5000], std::byte{0});
  EXPECT_EQ(bytes[8192], std::byte{3});
}

TEST(SavedWeights, RejectTablesThatDoNotFit) {
  const auto problem_with = [](const std::function<void(SavedWeights&)>& change,
                               std::size_t data_bytes = kDataBytes) {
    SavedWeights weights = table();
    change(weights);
    std::string problem = problem_of(file_with(pack(weights), data_bytes));
    const std::string start = "load: norm.sinterx is invalid: its weights: ";
    return problem.starts_with(start)
               ? problem.substr(start.size(), problem.find(" (it was") - start.size())
               : problem;
  };
  const auto with = [&](std::size_t which, const std::function<void(SavedWeight&)>& change) {
    return problem_with([&](SavedWeights& weights) { change(weights.table[which]); });
  };
  EXPECT_EQ(problem_with([](SavedWeights&) {}), "");
  EXPECT_EQ(with(0, [](SavedWeight& x) { x.input = "d"; }),
            "d is no input of the graph, or out of order");
  EXPECT_EQ(with(1, [](SavedWeight& t) { t.input = "x"; }),
            "x is no input of the graph, or out of order");
  EXPECT_EQ(with(0, [](SavedWeight& x) { x.dtype = DType::f64; }), "x is f64 instead of f32");
  EXPECT_EQ(with(2, [](SavedWeight& rate) { rate.is_number = false; }),
            "rate is an array for a scalar");
  EXPECT_EQ(with(1, [](SavedWeight& t) { t.is_number = true; }), "t/0 is a number for an array");
  EXPECT_EQ(with(0, [](SavedWeight& x) { x.shape = {1920}; }), "x has rank 1 instead of 2");
  EXPECT_EQ(with(0,
                 [](SavedWeight& x) {
                   x.shape = {20, 97};
                 }),
            "x has 7680 bytes, but its shape is [20, 97]");
  EXPECT_EQ(with(0,
                 [](SavedWeight& x) {
                   x.shape = {-20, -96};
                 }),
            "x has 7680 bytes, but its shape is [-20, -96]");
  EXPECT_EQ(with(0,
                 [](SavedWeight& x) {
                   x.shape = {-20, 96};
                   x.bytes = -1;  // as of no valid shape
                 }),
            "x has -1 bytes, but its shape is [-20, 96]");
  EXPECT_EQ(with(0,
                 [](SavedWeight& x) {
                   x.strides = {1, 20};
                 }),
            "x has the strides [1, 20], which the graph does not declare");
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(with(0,
                   [](SavedWeight& x) {
                     x.shape = {kMost, kMost};
                   }),
              StartsWith("x has 7680 bytes, but its shape is ["));
  EXPECT_EQ(with(1, [](SavedWeight& t) { t.offset = 4096; }),
            "t/0 begins at byte 4096 instead of 8192");
  EXPECT_EQ(with(0, [](SavedWeight& x) { x.offset = -4096; }),
            "x begins at byte -4096 instead of 0");
  EXPECT_EQ(
      with(0,
           [](SavedWeight& x) {
             x.shape = {kMost / 4 / 96, 96};
             x.bytes = kMost / 4 / 96 * 96 * 4;
           }),
      "x has 9223372036854775680 bytes from byte 0 on, but the section of all weights has 8576");
  EXPECT_EQ(problem_with([](SavedWeights&) {}, kDataBytes - 1),
            "t/0 has 384 bytes from byte 8192 on, but the section of all weights has 8575");
  EXPECT_EQ(problem_with([](SavedWeights&) {}, kDataBytes + 1),
            "the last one ends at byte 8576 of 8577");
  EXPECT_EQ(
      problem_with([](SavedWeights& weights) { std::swap(weights.table[0], weights.table[1]); }),
      "t/0 begins at byte 8192 instead of 0");
}

TEST(SavedWeights, RejectMissingAndUnknownSections) {
  const auto problem_with = [](const SectionKind& kind) {
    return problem_of(pack_saved_file(std::vector<SavedSection>{
        {kProgramSection, "", pack(saved_program())}, {kind, "", pack(SavedWeights())}}));
  };
  EXPECT_THAT(problem_with(kWeightsSection),
              HasSubstr("its weights: their table or their elements are missing"));
  EXPECT_THAT(problem_with(kWeightDataSection),
              HasSubstr("its weights: their table or their elements are missing"));
  EXPECT_THAT(problem_of(pack_saved_file(
                  std::vector<SavedSection>{{kProgramSection, "", pack(saved_program())},
                                            {{"weights", 9}, "", pack(SavedWeights())},
                                            {kWeightDataSection, "", {}}})),
              HasSubstr("has version 9 of the table of weights, but this sinter reads version 2"));
}

/// Mutations with valid checksums, as an attacker would write them.
TEST(SavedWeights, SurviveMutations) {
  std::mt19937 random(5);
  const Bytes sound = pack(table());
  int refused = 0, read = 0;
  for (int i = 0; i < 5000; ++i) {
    Bytes bytes = sound;
    for (std::size_t changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % bytes.size();
      if (random() % 4 == 0)
        bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at));
      else
        bytes[at] = static_cast<std::byte>(random());
    }
    const std::string problem = problem_of(file_with(bytes, kDataBytes));
    EXPECT_THAT(problem, AnyOf("", StartsWith("load: norm.sinterx is invalid: its weights: ")));
    ++(problem.empty() ? read : refused);
  }
  std::printf("%d refused, %d read\n", refused, read);
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 100) << "other numbers are as good";
}

}  // namespace
}  // namespace sinter::test::saved_weights_test
