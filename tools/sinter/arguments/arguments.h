// Arguments that several commands share, and functions that read them: the graph, the sizes of its
// symbols, the target.
#pragma once

#include "compiler/plan.h"
#include "compiler/target/target.h"
#include "ir/shape/host_array.h"
#include "sinter/graph.h"
#include "sinter/numerics.h"

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::command {

/// An error in the command line: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The text of the graph is invalid. The message lists the errors with their lines, like a
/// compiler.
class TextFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The arguments of every command that works on a graph.
struct GraphArguments {
  std::string file;                ///< "-": standard input
  std::vector<std::string> sizes;  ///< `rows=4096`
};

/// The words of --rounding and --math, which the parser checks.
struct NumericsArguments {
  std::string rounding = "as_recorded";
  std::string math = "accurate";
};

Numerics numerics_of(const NumericsArguments& arguments);
/// Plan options with the passes that the environment variable SINTER_SKIP skips.
PlanOptions plan_options(Numerics numerics = {});

/// Moves the last of `words` to `file` if `file` is empty and the word has no `=`. The parser takes
/// the file in `--size rows=64 FILE` for a size.
void take_file(std::string& file, std::vector<std::string>& words);

/// Calls take_file on the sizes, and checks the arguments. Throws UsageError if there is no file or
/// a size is not NAME=NUMBER.
void finish_graph_arguments(GraphArguments& arguments);

/// True if `file` is a regular file that begins like a file of `sinter compile`.
bool is_saved_executable(const std::string& file);

/// Throws UsageError if the file cannot be read or is a saved executable, and TextFailure if its
/// text is invalid.
Graph read_graph(const std::string& file);

/// A size for every symbol of a graph, by id.
struct SymbolSizes {
  std::vector<std::int64_t> values;
  std::vector<bool> is_default;  ///< neither given nor known from an input

  /// `rows = 1024 (default), columns = 64`; empty for a graph without symbols.
  std::string text(const Graph& graph) const;
};

/// The largest default size, and the most elements of a value at default sizes.
inline constexpr std::int64_t kDefaultSize = 1024;
inline constexpr std::int64_t kMaxDefaultElements = std::int64_t{1} << 24;

/// The sizes of all symbols. A size comes from `given`, else from the shapes of `inputs`, else from
/// `prepared` (by id). If `prepared` is empty, the default is kDefaultSize, or the largest power of
/// two below it at which no value has more than kMaxDefaultElements. Throws UsageError on an
/// unknown or repeated symbol and on a bad number. Throws UserError if the graph is invalid at
/// these sizes or the inputs do not fit.
SymbolSizes choose_sizes(const Graph& graph, std::span<const std::string> given,
                         const HostArrays& inputs = {},
                         std::span<const std::int64_t> prepared = {});

/// The target for `sm_90` or `h200`. Throws UsageError if it is not known.
const Target& target_of(std::string_view arch);

}  // namespace sinter::command
