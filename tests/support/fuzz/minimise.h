// Minimises a failing graph, so that a reader can understand the failure.
#pragma once

#include "tests/support/graphs/random_graph.h"

#include <functional>

namespace sinter::test {

/// Returns true if a graph fails as the original one did. Must be deterministic.
using StillFails = std::function<bool(const RandomGraph&)>;

/// The smallest graph found for which `fails` is true. It must be true for `random`. The search
/// makes one node the only output, and drops results and unused inputs. It replaces nodes by an
/// operand, a cast of an operand or a new input, symbols by numbers, and numbers by smaller ones.
/// It calls `fails` at most `most_tries` times, only for graphs that a user could have written.
RandomGraph minimise(const RandomGraph& random, const StillFails& fails, int most_tries = 400);

/// `random` parsed again from its text, with only the symbols in the text. Throws UserError if the
/// graph is invalid at its sizes.
RandomGraph normalised(const RandomGraph& random);

/// The text of a graph and its sizes, in the format of the files in tests/golden/run.
std::string file_text(const RandomGraph& random);

}  // namespace sinter::test
