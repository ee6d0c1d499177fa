// The result dtype of an op or composite, found by recording it.
#pragma once

#include "ir/parser/op_syntax.h"

#include <string>

namespace sinter::command {

/// As text: `the operand's`, `bool`, `the operand's or i64`. Empty if attributes decide, as for
/// structural ops and sources.
std::string result_dtype(const OpSyntax& syntax);

}  // namespace sinter::command
