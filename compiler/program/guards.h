// Guards: what a program assumes of the symbols, one per extent.
#pragma once

#include "compiler/program/kernel.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sinter {

/// Adds `guard`; what is known of its extent already becomes narrower instead of longer. A guard of
/// a number, which can not break, is left out.
void add_guard(std::vector<Guard>& guards, Guard guard);

/// `rows * 4 in [0, 16384], divisible by 4`
std::string to_string(const Guard& guard);

/// True if `symbols` keep to every guard of `program`.
bool holds(const Program& program, std::span<const std::int64_t> symbols);
/// The first guard that does not hold, in words; empty if all do.
std::string broken_guard(const Program& program, std::span<const std::int64_t> symbols);

}  // namespace sinter
