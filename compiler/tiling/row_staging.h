// Staging of rows that a kernel also reads at a shifted position, as rotary embeddings after a norm
// do. The threads of a row share the elements that they loaded first through shared memory.
#pragma once

#include <utility>
#include <vector>

#include "compiler/body/access.h"
#include "compiler/body/body.h"
#include "compiler/program/kernel.h"

namespace sinter {

/// A load that is kept, and the loads of later passes that read the same row at an offset in
/// elements.
struct StagedRow {
  int kept = 0;
  std::vector<std::pair<int, Extent>> loads;
};

/// False if no row is read at two positions, regardless of the loads that are kept.
bool may_have_staged_rows(const Body& body);

/// The rows worth staging in shared memory, of a row kernel whose `plan` keeps values in the
/// registers of one block. Rows longer than a few KiB are not staged.
std::vector<StagedRow> staged_rows(const Body& body, const PassPlan& plan, const Facts& facts);

/// Elements and bytes of a staged row in shared memory, rounded up to whole vectors. Of a symbolic
/// length: of the longest row of its size class.
std::int64_t staged_length(const Body& body, int vector, const Facts& facts);
std::int64_t staged_bytes(const Body& body, const StagedRow& row, int vector, const Facts& facts);

}  // namespace sinter
