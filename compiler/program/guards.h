// Guards: the conditions on symbols that a program assumes, one guard per extent.
#pragma once

#include "compiler/program/kernel.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sinter {

/// Adds `guard`. If the extent already has a guard, narrows that one instead. Skips guards on
/// numbers, which cannot fail.
void add_guard(std::vector<Guard>& guards, Guard guard);

/// `rows * 4 in [0, 16384], divisible by 4`
std::string to_string(const Guard& guard);

/// True if `symbols` satisfy every guard of `program`.
bool holds(const Program& program, std::span<const std::int64_t> symbols);
/// Describes the first guard that does not hold; empty if all hold.
std::string broken_guard(const Program& program, std::span<const std::int64_t> symbols);

}  // namespace sinter
