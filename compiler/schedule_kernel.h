// Scheduling: how each kernel runs on a target, and the candidates that tuning may try.
#pragma once

#include "compiler/body.h"
#include "compiler/plan.h"

namespace sinter {

/// Fills in kind, schedule, candidates and notes of all kernels, and adds to `program` the guards
/// that they rely on.
void schedule(Program& program, const Target& target);

/// The shape of the kernel that computes `body`.
KernelKind kind_of(const Body& body, const Target& target, const Facts& facts);

/// True if what `body` reads lies in memory along its last parallel axis rather than along its
/// rows.
bool lies_across_rows(const Body& body, const Facts& facts);

/// True if `body` is one of a kernel that reduces columns and nothing else.
bool reduces_columns(const Body& body, const Facts& facts);

/// The largest 32-bit index that kernels compute with, which leaves room for the last block's
/// threads.
inline constexpr std::int64_t kLargestIndex = (std::int64_t{1} << 31) - (1 << 20);
/// True if every index of `program`'s kernels fits in 32 bits at its sizes.
bool fits_32_bits(const Program& program, const Kernel& kernel);

}  // namespace sinter
