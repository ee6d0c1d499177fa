// Chooses the kernel kind that computes a body.
#pragma once

#include "compiler/body/body.h"
#include "compiler/program/kernel.h"
#include "compiler/target/target.h"

namespace sinter {

/// The kind of the kernel that computes `body`.
KernelKind kind_of(const Body& body, const Target& target, const Facts& facts);

/// True if the loads of `body` are contiguous along its last parallel axis rather than along its
/// rows.
bool is_contiguous_across_rows(const Body& body, const Facts& facts);

/// True if `body` reduces columns and does nothing else.
bool reduces_columns(const Body& body, const Facts& facts);

}  // namespace sinter
