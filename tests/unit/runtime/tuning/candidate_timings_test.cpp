// Stored timings of candidates: which candidates must be measured, and which one is chosen.
#include "runtime/tuning/candidate_timings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::candidate_timings_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsNull;
using ::testing::NotNull;

CandidateTiming timing(double microseconds, double reference = 100) {
  return {.median_us = microseconds,
          .lower_quartile_us = microseconds * 0.995,
          .upper_quartile_us = microseconds * 1.005,
          .gigabytes_per_second = 1000 / microseconds,
          .reference_us = reference,
          .blocks = 7,
          .rounds = 5,
          .launches = 10};
}

/// A query for a kernel whose candidates are named by one letter each.
TuningQuery query(const std::string& candidates, std::int64_t n = 1024) {
  TuningQuery result{.numbers = {n, 3}, .sizes = "n"};
  for (const char candidate : candidates) {
    result.candidates.emplace_back(1, candidate);
    result.blocks.push_back(7);
    result.reports.push_back({.schedule = "schedule " + result.candidates.back()});
  }
  return result;
}

TunedSize size(std::map<std::string, CandidateTiming> timings, std::int64_t n = 1024) {
  return {.numbers = {n, 3}, .sizes = "n", .timings = std::move(timings)};
}

TEST(CandidateTimings, AllAreUnknownAtFirst) {
  EXPECT_THAT(candidates_to_measure(query("abc"), nullptr), ElementsAre(true, true, true));
}

TEST(CandidateTimings, MeasuresNewCandidatesWithTheDefault) {
  const TunedSize known = size({{"a", timing(100)}, {"b", timing(90)}});
  EXPECT_THAT(candidates_to_measure(query("abc"), &known), ElementsAre(true, false, true));
  EXPECT_THAT(candidates_to_measure(query("ab"), &known), ElementsAre(false, false));
  EXPECT_THAT(candidates_to_measure(query("ba"), &known), ElementsAre(false, false));
}

TEST(CandidateTimings, NeedTheDefault) {
  const TunedSize known = size({{"b", timing(90)}, {"c", timing(80)}});
  EXPECT_THAT(candidates_to_measure(query("abc"), &known), ElementsAre(true, true, true));
}

TEST(CandidateTimings, DoNotApplyToAnotherGrid) {
  const TunedSize known = size({{"a", timing(100)}, {"b", timing(90)}});
  TuningQuery other = query("ab");
  other.blocks[1] = 8;
  EXPECT_THAT(candidates_to_measure(other, &known), ElementsAre(true, true));
}

TEST(CandidateTimings, OfQuickTuningDoNotServeWideTuning) {
  TunedSize known = size({{"a", timing(100)}, {"b", timing(90)}});
  TuningQuery wide = query("ab");
  wide.effort = Tune::wide;
  EXPECT_THAT(candidates_to_measure(wide, &known), ElementsAre(true, true));
  for (auto& [candidate, known_timing] : known.timings) known_timing.effort = Tune::wide;
  EXPECT_THAT(candidates_to_measure(wide, &known), ElementsAre(false, false));
  EXPECT_THAT(candidates_to_measure(query("ab"), &known), ElementsAre(false, false));
}

TEST(CandidateTimings, SkipsFilteredCandidates) {
  TuningQuery filtered = query("abc");
  filtered.reports[1].problem = "it spills";
  EXPECT_THAT(candidates_to_measure(filtered, nullptr), ElementsAre(true, false, true));
  const TunedSize known = size({{"a", timing(100)}, {"b", timing(10)}, {"c", timing(90)}});
  const TuneResult result = choose_by_timings(filtered, known);
  EXPECT_EQ(result.chosen, 2);
  EXPECT_EQ(result.candidates[1].problem, "it spills");
  EXPECT_EQ(result.candidates[1].median_us, 0);
}

TEST(CandidateTimings, ChoosesAClearWinner) {
  const TuneResult result = choose_by_timings(
      query("abc"), size({{"a", timing(100)}, {"b", timing(80)}, {"c", timing(90)}}));
  EXPECT_EQ(result.chosen, 1);
  EXPECT_TRUE(result.candidates[1].chosen);
  EXPECT_EQ(result.candidates[1].median_us, 80);
  EXPECT_EQ(result.summary, "3 candidates, 5 rounds of 10 launches");
  EXPECT_EQ(choose_by_timings(query("ab"), size({{"a", timing(100)}, {"b", timing(99)}})).chosen,
            0);
}

TEST(CandidateTimings, SummariesHaveCorrectPlurals) {
  EXPECT_EQ(tuning_summary(1, {1, 1}, {1, 1}), "1 candidate, 1 round of 1 launch");
  EXPECT_EQ(tuning_summary(2, {1, 7}, {2, 10}), "2 candidates, 1 to 7 rounds of 2 to 10 launches");
  EXPECT_EQ(tuning_summary(3, {}, {}), "3 candidates");
}

TEST(CandidateTimings, AreScaledByTheDefault) {
  // The default took half as long when c was measured, so c is slower than b and the default.
  const TunedSize known =
      size({{"a", timing(100)}, {"b", timing(80)}, {"c", timing(55, /*reference=*/50)}});
  const TuneResult result = choose_by_timings(query("abc"), known);
  EXPECT_EQ(result.chosen, 1);
  EXPECT_DOUBLE_EQ(result.candidates[2].median_us, 110);
  EXPECT_DOUBLE_EQ(result.candidates[2].gigabytes_per_second, 1000.0 / 110);
}

TEST(CandidateTimings, KeepDroppedCandidates) {
  CandidateTiming broken{.blocks = 7, .rounds = 5, .launches = 10, .problem = "it differs"};
  broken.differs = true;
  const TunedSize known = size({{"a", timing(100)}, {"b", broken}});
  EXPECT_THAT(candidates_to_measure(query("ab"), &known), ElementsAre(false, false));
  const TuneResult result = choose_by_timings(query("ab"), known);
  EXPECT_EQ(result.chosen, 0);
  EXPECT_EQ(result.candidates[1].problem, "it differs");
  EXPECT_TRUE(result.candidates[1].differs);
}

TEST(CandidateTimings, TablesAreDeterministic) {
  const TunedSize known = size({{"a", timing(100)}, {"b", timing(80)}, {"c", timing(55, 50)}});
  const auto table = [&] {
    const TuneResult result = choose_by_timings(query("abc"), known);
    Report report;
    report.kernels.push_back({.name = "k", .kind = "pointwise"});
    report.kernels[0].candidates = result.candidates;
    report.kernels[0].tuning = result.summary;
    return tuning_table(report);
  };
  const std::string first = table();
  EXPECT_EQ(first, table());
  const std::string blanks(50, ' ');
  EXPECT_EQ(first,
            "k (pointwise): 3 candidates, 5 rounds of 10 launches\n"
            "    schedule a" +
                blanks +
                "    100.00 us [99.50, 100.50]     10.0 GB/s \n"
                "  * schedule b" +
                blanks +
                "     80.00 us [79.60, 80.40]     12.5 GB/s \n"
                "    schedule c" +
                blanks + "    110.00 us [109.45, 110.55]      9.1 GB/s \n");
}

TEST(CandidateTimings, OfTheNearestSizeApply) {
  const std::map<std::string, CandidateTiming> timings = {{"a", timing(100)}, {"b", timing(80)}};
  const KernelTunings known{
      .sizes = {size(timings, 512), size(timings, 4096), size(timings, 2048)}};
  EXPECT_EQ(nearest(query("ab", 1900), known), &known.sizes[2]);
  EXPECT_EQ(nearest(query("ab", 600), known), &known.sizes[0]);
  EXPECT_EQ(nearest(query("ab", 16384), known), &known.sizes[1]);
  EXPECT_THAT(nearest(query("ab", 16385), known), IsNull()) << "it is too far away";
  EXPECT_THAT(nearest(query("ab", 0), known), IsNull());
  EXPECT_THAT(nearest(query("abc"), known), IsNull()) << "c is not known";
  TuningQuery without = query("abc");
  without.reports[2].problem = "it spills";
  EXPECT_THAT(nearest(without, known), NotNull());
}

TEST(CandidateTimings, Merge) {
  KernelTunings into{.sizes = {size({{"a", timing(100)}, {"b", timing(80)}})}};
  CandidateTiming wide = timing(81);
  wide.effort = Tune::wide;
  merge(into, {.sizes = {size({{"a", timing(50)}, {"b", wide}, {"c", timing(70)}}),
                         size({{"a", timing(1)}}, 2048)}});
  ASSERT_EQ(into.sizes.size(), 2U);
  EXPECT_EQ(into.sizes[0], size({{"a", timing(100)}, {"b", wide}, {"c", timing(70)}}));
  EXPECT_EQ(into.sizes[1], size({{"a", timing(1)}}, 2048));
  for (std::int64_t n = 1; n <= 40; ++n) merge(into, {.sizes = {size({{"a", timing(1)}}, n)}});
  EXPECT_EQ(into.sizes.size(), kMaxTunedSizes);
  EXPECT_EQ(into.sizes.back().numbers[0], 40);
}

/// Otherwise each run would measure the candidate again.
TEST(CandidateTimings, OfTheLatestGridReplaceThoseOfMoreEffort) {
  CandidateTiming wide = timing(90);
  wide.effort = Tune::wide;
  wide.blocks = 6;
  KernelTunings into{.sizes = {size({{"a", wide}})}};
  merge(into, {.sizes = {size({{"a", timing(80)}})}});
  EXPECT_EQ(into.sizes[0], size({{"a", timing(80)}}));
}

TEST(CandidateTimings, DisturbedOnesServeOnlyTheBackground) {
  CandidateTiming disturbed = timing(90);
  disturbed.was_disturbed = true;
  const TunedSize known = size({{"a", timing(100)}, {"b", disturbed}});
  TuningQuery asked = query("ab");
  EXPECT_THAT(candidates_to_measure(asked, &known), ElementsAre(true, true));
  EXPECT_THAT(nearest(asked, {.sizes = {known}}), IsNull());
  EXPECT_EQ(choose_by_timings(asked, known).chosen, 0);
  asked.is_in_background = true;
  EXPECT_THAT(candidates_to_measure(asked, &known), ElementsAre(false, false));
  EXPECT_THAT(nearest(asked, {.sizes = {known}}), NotNull());
  EXPECT_EQ(choose_by_timings(asked, known).chosen, 1);
}

TEST(CandidateTimings, UndisturbedOnesReplaceDisturbedOnes) {
  CandidateTiming disturbed = timing(90);
  disturbed.was_disturbed = true;
  KernelTunings into{.sizes = {size({{"a", disturbed}, {"b", timing(80)}})}};
  merge(into, {.sizes = {size({{"a", timing(50)}, {"b", disturbed}})}});
  EXPECT_EQ(into.sizes[0], size({{"a", timing(50)}, {"b", timing(80)}}));
}

/// A file may list the default as dropped, but every tuning measures the default.
TEST(CandidateTimings, DroppedDefaultsAreMeasured) {
  const CandidateTiming dropped{.blocks = 7, .rounds = 1, .launches = 1, .problem = "it differs"};
  KernelTunings into{.sizes = {size({{"a", dropped}, {"b", dropped}})}};
  EXPECT_THAT(candidates_to_measure(query("ab"), &into.sizes[0]), ElementsAre(true, true));
  merge(into, {.sizes = {size({{"a", timing(100, 100)}, {"b", timing(80, 100)}})}});
  EXPECT_EQ(into.sizes[0], size({{"a", timing(100, 100)}, {"b", dropped}}));
  EXPECT_THAT(candidates_to_measure(query("ab"), &into.sizes[0]), ElementsAre(false, false));
}

TEST(CandidateTimings, ConvertTuneResults) {
  const TuningQuery asked = query("abcd");
  TuneResult result{.candidates = asked.reports, .rounds = 5, .launches = 10};
  EXPECT_THAT(timings_of(asked, result, {true, true, true, true}).timings, IsEmpty());
  result.candidates[0].median_us = result.candidates[0].upper_quartile_us = 100;
  result.candidates[1].problem = "it differs";
  result.candidates[2].median_us = result.candidates[2].upper_quartile_us = 80;
  const TunedSize timings = timings_of(asked, result, {true, true, true, false});
  ASSERT_EQ(timings.timings.size(), 3U);
  EXPECT_EQ(timings.timings.at("a").reference_us, 100);
  EXPECT_EQ(timings.timings.at("b").problem, "it differs");
  EXPECT_EQ(timings.timings.at("c").median_us, 80);
  EXPECT_FALSE(timings.timings.at("c").was_disturbed);
  EXPECT_TRUE(timings_of(asked, result, {true, true, true, true}, /*was_disturbed=*/true)
                  .timings.at("c")
                  .was_disturbed);
  EXPECT_EQ(timings.timings.at("c").reference_us, 100);
  EXPECT_EQ(timings.timings.at("c").schedule, "schedule c");
  result.candidates[2].schedule = std::string(5000, 'x');
  EXPECT_EQ(timings_of(asked, result, {true, true, true, false}).timings.at("c").schedule.size(),
            kMaxTuningTextBytes);
}

}  // namespace
}  // namespace sinter::candidate_timings_test
