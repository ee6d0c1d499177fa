// Guards: what a program assumes of the symbols, one per extent.
#pragma once

#include "compiler/kernel.h"

#include <string>
#include <vector>

namespace sinter {

/// Adds `guard`; what is known of its extent already becomes narrower instead of longer. A guard of
/// a number, which can not break, is left out.
void add_guard(std::vector<Guard>& guards, Guard guard);

/// `rows * 4 in [0, 16384], divisible by 4`
std::string to_string(const Guard& guard);

}  // namespace sinter
