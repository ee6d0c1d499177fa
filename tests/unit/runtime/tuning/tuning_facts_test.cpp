// Facts about candidates: what must be measured, and what follows from what was.
#include "runtime/tuning/tuning_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::tuning_facts_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsNull;
using ::testing::NotNull;

TuningFact fact(double microseconds, double reference = 100) {
  return {.median_us = microseconds,
          .lower_quartile_us = microseconds * 0.995,
          .upper_quartile_us = microseconds * 1.005,
          .gigabytes_per_second = 1000 / microseconds,
          .reference_us = reference,
          .blocks = 7,
          .rounds = 5,
          .launches = 10};
}

/// A kernel whose candidates are called by one letter each.
TuningQuery query(const std::string& candidates, std::int64_t n = 1024) {
  TuningQuery result{.numbers = {n, 3}, .sizes = "n"};
  for (const char candidate : candidates) {
    result.candidates.emplace_back(1, candidate);
    result.blocks.push_back(7);
    result.reports.push_back({.schedule = "schedule " + result.candidates.back()});
  }
  return result;
}

TunedSize size(std::map<std::string, TuningFact> facts, std::int64_t n = 1024) {
  return {.numbers = {n, 3}, .sizes = "n", .facts = std::move(facts)};
}

TEST(TuningFacts, OfNothingAllIsUnknown) {
  EXPECT_THAT(candidates_to_measure(query("abc"), nullptr), ElementsAre(true, true, true));
}

TEST(TuningFacts, OnlyANewCandidateIsMeasuredAndTheDefaultWithIt) {
  const TunedSize known = size({{"a", fact(100)}, {"b", fact(90)}});
  EXPECT_THAT(candidates_to_measure(query("abc"), &known), ElementsAre(true, false, true));
  EXPECT_THAT(candidates_to_measure(query("ab"), &known), ElementsAre(false, false));
  EXPECT_THAT(candidates_to_measure(query("ba"), &known), ElementsAre(false, false));
}

TEST(TuningFacts, WithoutTheDefaultNothingIsKnown) {
  const TunedSize known = size({{"b", fact(90)}, {"c", fact(80)}});
  EXPECT_THAT(candidates_to_measure(query("abc"), &known), ElementsAre(true, true, true));
}

TEST(TuningFacts, AreNotThoseOfAnotherLaunch) {
  const TunedSize known = size({{"a", fact(100)}, {"b", fact(90)}});
  TuningQuery other = query("ab");
  other.blocks[1] = 8;
  EXPECT_THAT(candidates_to_measure(other, &known), ElementsAre(true, true));
}

TEST(TuningFacts, OfLittleEffortDoNotAnswerForMuch) {
  TunedSize known = size({{"a", fact(100)}, {"b", fact(90)}});
  TuningQuery wide = query("ab");
  wide.effort = Tune::wide;
  EXPECT_THAT(candidates_to_measure(wide, &known), ElementsAre(true, true));
  for (auto& [candidate, known_fact] : known.facts) known_fact.effort = Tune::wide;
  EXPECT_THAT(candidates_to_measure(wide, &known), ElementsAre(false, false));
  EXPECT_THAT(candidates_to_measure(query("ab"), &known), ElementsAre(false, false));
}

TEST(TuningFacts, HopelessCandidatesAreNotMeasured) {
  TuningQuery filtered = query("abc");
  filtered.reports[1].problem = "it spills";
  EXPECT_THAT(candidates_to_measure(filtered, nullptr), ElementsAre(true, false, true));
  const TunedSize known = size({{"a", fact(100)}, {"b", fact(10)}, {"c", fact(90)}});
  const TuneResult result = choose_from_facts(filtered, known);
  EXPECT_EQ(result.chosen, 2);
  EXPECT_EQ(result.candidates[1].problem, "it spills");
  EXPECT_EQ(result.candidates[1].median_us, 0);
}

TEST(TuningFacts, TheFastestIsChosenWhereItIsClear) {
  const TuneResult result =
      choose_from_facts(query("abc"), size({{"a", fact(100)}, {"b", fact(80)}, {"c", fact(90)}}));
  EXPECT_EQ(result.chosen, 1);
  EXPECT_TRUE(result.candidates[1].chosen);
  EXPECT_EQ(result.candidates[1].median_us, 80);
  EXPECT_EQ(result.summary, "3 candidates, 5 rounds of 10 launches");
  EXPECT_EQ(choose_from_facts(query("ab"), size({{"a", fact(100)}, {"b", fact(99)}})).chosen, 0);
}

TEST(TuningFacts, SummariesCountInWords) {
  EXPECT_EQ(tuning_summary(1, {1, 1}, {1, 1}), "1 candidate, 1 round of 1 launch");
  EXPECT_EQ(tuning_summary(2, {1, 7}, {2, 10}), "2 candidates, 1 to 7 rounds of 2 to 10 launches");
  EXPECT_EQ(tuning_summary(3, {}, {}), "3 candidates");
}

TEST(TuningFacts, OfDifferentDaysAreComparedByWayOfTheDefault) {
  // When c was measured all took half as long: it is slower than b, and than the default.
  const TunedSize known =
      size({{"a", fact(100)}, {"b", fact(80)}, {"c", fact(55, /*reference=*/50)}});
  const TuneResult result = choose_from_facts(query("abc"), known);
  EXPECT_EQ(result.chosen, 1);
  EXPECT_DOUBLE_EQ(result.candidates[2].median_us, 110);
  EXPECT_DOUBLE_EQ(result.candidates[2].gigabytes_per_second, 1000.0 / 110);
}

TEST(TuningFacts, RememberWhatWasDropped) {
  TuningFact broken{.blocks = 7, .rounds = 5, .launches = 10, .problem = "it differs"};
  broken.differs = true;
  const TunedSize known = size({{"a", fact(100)}, {"b", broken}});
  EXPECT_THAT(candidates_to_measure(query("ab"), &known), ElementsAre(false, false));
  const TuneResult result = choose_from_facts(query("ab"), known);
  EXPECT_EQ(result.chosen, 0);
  EXPECT_EQ(result.candidates[1].problem, "it differs");
  EXPECT_TRUE(result.candidates[1].differs);
}

TEST(TuningFacts, MakeTheSameTableWheneverTheyAreTheSame) {
  const TunedSize known = size({{"a", fact(100)}, {"b", fact(80)}, {"c", fact(55, 50)}});
  const auto table = [&] {
    const TuneResult result = choose_from_facts(query("abc"), known);
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

TEST(TuningFacts, OfTheNearestSizeServe) {
  const std::map<std::string, TuningFact> facts = {{"a", fact(100)}, {"b", fact(80)}};
  const KernelTunings known{.sizes = {size(facts, 512), size(facts, 4096), size(facts, 2048)}};
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

TEST(TuningFacts, MergeToWhatEitherKnew) {
  KernelTunings into{.sizes = {size({{"a", fact(100)}, {"b", fact(80)}})}};
  TuningFact wide = fact(81);
  wide.effort = Tune::wide;
  merge(into, {.sizes = {size({{"a", fact(50)}, {"b", wide}, {"c", fact(70)}}),
                         size({{"a", fact(1)}}, 2048)}});
  ASSERT_EQ(into.sizes.size(), 2U);
  EXPECT_EQ(into.sizes[0], size({{"a", fact(100)}, {"b", wide}, {"c", fact(70)}}));
  EXPECT_EQ(into.sizes[1], size({{"a", fact(1)}}, 2048));
  for (std::int64_t n = 1; n <= 40; ++n) merge(into, {.sizes = {size({{"a", fact(1)}}, n)}});
  EXPECT_EQ(into.sizes.size(), kMaxTunedSizes);
  EXPECT_EQ(into.sizes.back().numbers[0], 40);
}

TEST(TuningFacts, ThatWereDisturbedAnswerInTheBackgroundAlone) {
  TuningFact disturbed = fact(90);
  disturbed.was_disturbed = true;
  const TunedSize known = size({{"a", fact(100)}, {"b", disturbed}});
  TuningQuery asked = query("ab");
  EXPECT_THAT(candidates_to_measure(asked, &known), ElementsAre(true, true));
  EXPECT_THAT(nearest(asked, {.sizes = {known}}), IsNull());
  EXPECT_EQ(choose_from_facts(asked, known).chosen, 0);
  asked.is_in_background = true;
  EXPECT_THAT(candidates_to_measure(asked, &known), ElementsAre(false, false));
  EXPECT_THAT(nearest(asked, {.sizes = {known}}), NotNull());
  EXPECT_EQ(choose_from_facts(asked, known).chosen, 1);
}

TEST(TuningFacts, ThatWereDisturbedMakeWayForThoseThatWereNot) {
  TuningFact disturbed = fact(90);
  disturbed.was_disturbed = true;
  KernelTunings into{.sizes = {size({{"a", disturbed}, {"b", fact(80)}})}};
  merge(into, {.sizes = {size({{"a", fact(50)}, {"b", disturbed}})}});
  EXPECT_EQ(into.sizes[0], size({{"a", fact(50)}, {"b", fact(80)}}));
}

/// A file may say what it likes: the default is there whenever something is measured.
TEST(TuningFacts, ADefaultThatWasDroppedIsOneThatIsMeasured) {
  const TuningFact dropped{.blocks = 7, .rounds = 1, .launches = 1, .problem = "it differs"};
  KernelTunings into{.sizes = {size({{"a", dropped}, {"b", dropped}})}};
  EXPECT_THAT(candidates_to_measure(query("ab"), &into.sizes[0]), ElementsAre(true, true));
  merge(into, {.sizes = {size({{"a", fact(100, 100)}, {"b", fact(80, 100)}})}});
  EXPECT_EQ(into.sizes[0], size({{"a", fact(100, 100)}, {"b", dropped}}));
  EXPECT_THAT(candidates_to_measure(query("ab"), &into.sizes[0]), ElementsAre(false, false));
}

TEST(TuningFacts, AreWhatWasMeasured) {
  const TuningQuery asked = query("abcd");
  TuneResult result{.candidates = asked.reports, .rounds = 5, .launches = 10};
  EXPECT_THAT(facts_of(asked, result, {true, true, true, true}).facts, IsEmpty());
  result.candidates[0].median_us = result.candidates[0].upper_quartile_us = 100;
  result.candidates[1].problem = "it differs";
  result.candidates[2].median_us = result.candidates[2].upper_quartile_us = 80;
  const TunedSize facts = facts_of(asked, result, {true, true, true, false});
  ASSERT_EQ(facts.facts.size(), 3U);
  EXPECT_EQ(facts.facts.at("a").reference_us, 100);
  EXPECT_EQ(facts.facts.at("b").problem, "it differs");
  EXPECT_EQ(facts.facts.at("c").median_us, 80);
  EXPECT_FALSE(facts.facts.at("c").was_disturbed);
  EXPECT_TRUE(facts_of(asked, result, {true, true, true, true}, /*was_disturbed=*/true)
                  .facts.at("c")
                  .was_disturbed);
  EXPECT_EQ(facts.facts.at("c").reference_us, 100);
  EXPECT_EQ(facts.facts.at("c").schedule, "schedule c");
  result.candidates[2].schedule = std::string(5000, 'x');
  EXPECT_EQ(facts_of(asked, result, {true, true, true, false}).facts.at("c").schedule.size(),
            kMaxTuningTextBytes);
}

}  // namespace
}  // namespace sinter::tuning_facts_test
