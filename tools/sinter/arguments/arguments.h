// What the commands are given, and how it is read: the graph, the sizes of its symbols, the target.
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

/// The command was called the wrong way: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The text of the graph is wrong; the message says where, line by line, as a compiler would.
class TextFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What every command that works on a graph takes.
struct GraphArguments {
  std::string file;                ///< "-": standard input
  std::vector<std::string> sizes;  ///< `rows=4096`
};

/// How kernels round and compute, in words.
struct NumericsArguments {
  std::string rounding = "as_recorded";
  std::string math = "accurate";
};

/// The words that NumericsArguments take, in the order of the enums.
inline constexpr const char* kRoundings[] = {"as_recorded", "wide"};
inline constexpr const char* kMaths[] = {"accurate", "fast"};

/// Throws UsageError on a word that is not among them.
Numerics numerics_of(const NumericsArguments& arguments);
/// As the environment asks: SINTER_SKIP names passes to leave out.
PlanOptions plan_options(Numerics numerics = {});

/// Takes the file from the end of `words` where `--size rows=64 FILE` and the like put it.
void take_file(std::string& file, std::vector<std::string>& words);

/// Takes the file from the end of `sizes`. Throws
/// UsageError where there is no file, and where a size is not NAME=NUMBER.
void settle(GraphArguments& arguments);

/// True if `file` is there and looks like what `sinter compile` writes.
bool is_saved_executable(const std::string& file);

/// Throws UsageError where the file cannot be read or is a saved executable, TextFailure where its
/// text is wrong.
Graph read_graph(const std::string& file);

/// A number for every symbol of a graph, by id.
struct SymbolSizes {
  std::vector<std::int64_t> values;
  std::vector<bool> is_default;  ///< nobody gave it

  /// `rows = 1024 (default), columns = 64`; empty for a graph without symbols.
  std::string text(const Graph& graph) const;
};

/// The largest size that nobody asked for, and the most elements of a value at such sizes.
inline constexpr std::int64_t kDefaultSize = 1024;
inline constexpr std::int64_t kMostDefaultElements = std::int64_t{1} << 24;

/// The given sizes; the other symbols get those of `prepared`, by id, or, where that is empty,
/// kDefaultSize, or the power of two below it at which no value has more than kMostDefaultElements.
/// `inputs` that are at hand tell the sizes along their axes. Throws UsageError on an unknown or
/// repeated symbol and on a bad number, UserError on sizes at which the graph has no meaning or the
/// inputs do not fit.
SymbolSizes choose_sizes(const Graph& graph, std::span<const std::string> given,
                         const HostArrays& inputs = {},
                         std::span<const std::int64_t> prepared = {});

/// The target for `sm_90` or `h200`. Throws UsageError for one that is not known.
const Target& target_of(std::string_view arch);

}  // namespace sinter::command
