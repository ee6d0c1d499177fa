// Candidates that copy the operands of pointwise and row kernels to shared memory asynchronously.
#pragma once

#include <vector>

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/program/schedule.h"
#include "compiler/target/target.h"

namespace sinter {

/// Minimum bytes that the copies of an SM have in flight at once.
inline constexpr std::int64_t kCopiedBytesInFlight = 64 * 1024;
/// Maximum operands that are copied. With more, a few stages would fill the shared memory.
inline constexpr std::size_t kMaxCopiedLoads = 8;

/// Adds candidates with copies behind the first of `direct`, the candidates of a pointwise or row
/// kernel. No measurement has shown yet where copies are faster, so they are never the first
/// candidate. There are none for a GPU before sm_80, and none for arrays that do not fill all SMs.
std::vector<Schedule> with_copies(std::vector<Schedule> direct, const Body& body,
                                  const Target& target, const Facts& facts);

}  // namespace sinter
