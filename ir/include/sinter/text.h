// The text form of a Graph: what tests, bug reports and the command line are written in.
#pragma once

#include "sinter/graph.h"

#include <string>
#include <string_view>

namespace sinter {

/// The graph that `text` describes, recorded through the same functions that C++ code calls.
/// Throws one UserError that lists every mistake in the text, each as
///
///     model.sinter:3:14: expected an attribute, found ']'
///       s = sum x {]
///                  ^
Graph parse(std::string_view text, std::string_view file_name = "text");

/// The text of `graph`: its inputs, the values that outputs and updates need in the order of
/// recording, and its outputs. `print(parse(text))` of such a text is the text.
std::string print(const Graph& graph);

}  // namespace sinter
