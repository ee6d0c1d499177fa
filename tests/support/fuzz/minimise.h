// Makes a graph that fails as small as it can, so that the failure can be read.
#pragma once

#include "tests/support/graphs/random_graph.h"

#include <functional>

namespace sinter::test {

/// Whether a graph fails as the first one did. It must be sure: true one time, always true.
using StillFails = std::function<bool(const RandomGraph&)>;

/// The smallest graph found for which `fails` is true, which it must be for `random`. One node is
/// made the only output, or results are dropped; nodes are replaced by an operand, a cast of one or
/// a new input; inputs that nothing needs go; symbols become numbers, and numbers smaller. `fails`
/// is asked `most_tries` times at most, only of graphs that a user could have written.
RandomGraph minimise(const RandomGraph& random, const StillFails& fails, int most_tries = 400);

/// `random` with the same text, and only the symbols that the text has. Throws UserError where the
/// graph has no meaning at its sizes.
RandomGraph normalised(const RandomGraph& random);

/// The text of a graph and its sizes, as files in tests/golden/run have them.
std::string file_text(const RandomGraph& random);

}  // namespace sinter::test
