// Problems of library ops as text, for the keys of stored algorithms.
#pragma once

#include <string>

#include "runtime/libraries/problem/conv_problem.h"
#include "runtime/libraries/problem/matmul_problem.h"

namespace sinter {

/// Different problems have different texts.
std::string problem_text(const MatmulProblem& problem);
std::string problem_text(const ConvProblem& problem);

}  // namespace sinter
