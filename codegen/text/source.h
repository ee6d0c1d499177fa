// An emitted kernel as the runtime sees it: text, and how to launch it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/dtype.h"
#include "sinter/shape.h"

namespace sinter {

/// Bytes that single loads, or stores, of an array move as the text of a kernel has them; 0: none.
struct Widths {
  int widest = 0;
  int narrowest = 0;  ///< tails included, which go element by element

  static Widths of(int bytes) { return {.widest = bytes, .narrowest = bytes}; }
  void add(int bytes) { add(of(bytes)); }
  void add(const Widths& other);
};

/// One parameter of an emitted kernel, in order.
struct Argument {
  enum class Kind : std::uint8_t {
    buffer,  ///< pointer to Program::buffers[index]
    scalar,  ///< the value of the run-time scalar whose place among the graph's inputs is `index`
    extent,  ///< the value of `extent`, as int or long long
    workspace,  ///< pointer to `Source::workspace_bytes` of scratch memory of this launch alone
    tickets,    ///< pointer to `Source::tickets` unsigned counters that are 0 before and after
    table,      ///< pointer to the values of `Source::table`, 8 bytes each
  };
  Kind kind = Kind::buffer;
  int index = 0;
  Extent extent = 0;   ///< of scratch memory: where in it to point to, in bytes or counters
  std::string c_type;  ///< `const float*`, `int`, …
  Widths loads = {};   ///< of a buffer
  Widths stores = {};
};

/// Rows of `Source::table` for sections that run the same code, as many columns each.
struct TableList {
  std::size_t begin = 0;  ///< of the first row, in values
  std::size_t rows = 0;
  std::size_t columns = 0;
};

/// What the launch is predicted to move, for concrete sizes: evaluate the extents.
struct Traffic {
  bool is_bound = false;  ///< no more than this, maybe less: addresses or conditions depend on data
  bool writes_are_bound = false;  ///< of the written bytes too
  Extent bytes_read = 0;
  Extent bytes_written = 0;
};

/// CUDA C++ text of one kernel and its launch rule.
struct Source {
  std::string entry;
  std::string text;  ///< one `extern "C" __global__` function; the prelude goes in front
  /// The same of all kernels that run the same code on their arguments, whatever the user calls
  /// these; empty: only the text tells.
  std::string code = {};
  std::vector<Argument> arguments;
  /// What the kernel reads from device memory instead of from its parameters: the arrays and sizes
  /// of lists of sections that run the same code.
  std::vector<Argument> table = {};
  std::vector<TableList> lists = {};  ///< what `table` consists of
  Extent grid = 1;                    ///< blocks (x); 0 blocks: do not launch
  int threads = 0;
  std::int64_t shared_bytes = 0;
  Extent workspace_bytes = 0;
  Extent tickets = 0;
  bool has_barrier = false;  ///< block barriers or shuffles
  /// Blocks wait for one another, so that all of a launch must be on the device at once: it has no
  /// more than fit, whatever `grid` says, and they stride over the rest.
  bool is_cooperative = false;
  int cluster = 1;  ///< neighbouring blocks that must run at once and divide the grid
  /// The kernel itself waits for what was launched before: a launch may begin while that ends.
  bool may_start_early = false;
  int vector_bytes = 0;  ///< of the widest load or store of a buffer
  Traffic traffic;
  std::map<int, Extent> read_of;  ///< what `traffic` reads of each buffer, scratch memory apart
};

/// The first statement of a kernel for `arch` and whether it lets a launch start early: from sm_90
/// on. Not of cooperative ones, which wait until all of their blocks fit.
std::string write_start(std::string_view arch, Source& source);

/// The buffers that a kernel takes, each once, in the order of its arguments and its table.
std::vector<int> buffers_of(const Source& source);

}  // namespace sinter
