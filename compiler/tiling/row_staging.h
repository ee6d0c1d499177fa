// Rows that a kernel reads at other places too than the one that it is at, as rotary embeddings
// behind a norm do: what the threads of a row loaded first they leave for one another in shared
// memory.
#pragma once

#include <utility>
#include <vector>

#include "compiler/body/access.h"
#include "compiler/body/body.h"

namespace sinter {

/// A load that is kept, and the loads of later passes that read the same row so many elements
/// further on.
struct StagedRow {
  int kept = 0;
  std::vector<std::pair<int, Extent>> loads;
};

/// False where no row is read at two places, whatever is kept.
bool may_have_staged_rows(const Body& body);

/// Of a kernel of rows that `plan` keeps in the registers of one block: what is worth being left in
/// shared memory as well. Rows that take more than a few KiB are not.
std::vector<StagedRow> staged_rows(const Body& body, const PassPlan& plan);

/// Elements and bytes that one of the rows takes in shared memory: its last vector may end early.
std::int64_t staged_length(const Body& body, int vector);
std::int64_t staged_bytes(const Body& body, const StagedRow& row, int vector);

}  // namespace sinter
