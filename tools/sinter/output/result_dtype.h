// Which dtype an op or composite gives, found out by recording it.
#pragma once

#include "ir/parser/spelling.h"

#include <string>

namespace sinter::command {

/// In words: `the operand's`, `bool`, `the operand's or i64`. Empty where its attributes decide, as
/// they do of structural ops and sources.
std::string result_dtype(const Spelling& spelling);

}  // namespace sinter::command
