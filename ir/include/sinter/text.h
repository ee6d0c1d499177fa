// The text form of a Graph, for tests, bug reports and the command line.
#pragma once

#include "sinter/graph.h"

#include <string>
#include <string_view>

namespace sinter {

/// Parses `text` and records its graph through the functions that C++ code calls. Throws one
/// UserError that lists every mistake in the text, each in this form:
///
///     model.sinter:3:14: expected an attribute, found ']'
///       s = sum x {]
///                  ^
Graph parse(std::string_view text, std::string_view file_name = "text");

/// The text of `graph`: its inputs, the values that outputs and updates need in the order of
/// recording, its updates and its outputs. Parsing a printed text and printing it gives that text.
std::string print(const Graph& graph);

}  // namespace sinter
