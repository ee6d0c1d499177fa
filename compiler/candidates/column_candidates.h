// Candidate schedules of kernels that reduce columns.
#pragma once

#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// Candidates by ascending predicted time. Columns resident in one block come first if they are
/// about as fast, and schedules with fuller waves if they are faster.
std::vector<Schedule> column_candidates(const Body& body, const Target& target, const Facts& facts);

/// The prediction for the first candidate of a column kernel.
struct ColumnPrediction {
  bool is_resident = false;
  double seconds = 0;          ///< without the launch
  double bytes_of_splits = 0;  ///< written to the workspace and read back
};
/// Needs: collapsed axes.
ColumnPrediction predict_columns(const Body& body, const Target& target, const Facts& facts);

}  // namespace sinter
