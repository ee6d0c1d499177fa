// When a measured candidate replaces the default.
#include <gtest/gtest.h>

#include <vector>

#include "runtime/tuning/measure_candidates.h"

namespace sinter::clear_winner_test {
namespace {

CandidateReport timed(double lower, double median, double upper) {
  return {.median_us = median, .lower_quartile_us = lower, .upper_quartile_us = upper};
}

TEST(ClearWinner, TakesAClearlyFasterCandidate) {
  const std::vector<CandidateReport> candidates = {timed(9.9, 10.0, 10.1), timed(7.9, 8.0, 8.1),
                                                   timed(8.9, 9.0, 9.1)};
  EXPECT_EQ(clear_winner(candidates), 1);
}

TEST(ClearWinner, KeepsTheDefaultAgainstAGainBelowTwoPercent) {
  const std::vector<CandidateReport> candidates = {timed(9.99, 10.0, 10.01),
                                                   timed(9.84, 9.85, 9.86)};
  EXPECT_EQ(clear_winner(candidates), 0);
}

TEST(ClearWinner, KeepsTheDefaultIfQuartilesOverlap) {
  const std::vector<CandidateReport> candidates = {timed(8.0, 10.0, 12.0), timed(7.0, 8.0, 9.0)};
  EXPECT_EQ(clear_winner(candidates), 0);
}

TEST(ClearWinner, SkipsDroppedCandidates) {
  std::vector<CandidateReport> candidates = {timed(9.9, 10.0, 10.1), timed(0.9, 1.0, 1.1),
                                             timed(7.9, 8.0, 8.1)};
  candidates[1].problem = "its result differs";
  EXPECT_EQ(clear_winner(candidates), 2);
}

TEST(ClearWinner, KeepsTheDefaultIfNothingWasTimed) {
  EXPECT_EQ(clear_winner(std::vector<CandidateReport>(3)), 0);
}

}  // namespace
}  // namespace sinter::clear_winner_test
