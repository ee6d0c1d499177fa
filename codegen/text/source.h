// An emitted kernel as the runtime sees it: its text, its arguments and how to launch it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/dtype.h"
#include "sinter/shape.h"

namespace sinter {

/// The widest and narrowest single access, in bytes, that a kernel's text makes to an array. Both
/// are 0 if there is none.
struct Widths {
  int widest = 0;
  int narrowest = 0;  ///< includes masked tails, which are accessed element by element

  static Widths of(int bytes) { return {.widest = bytes, .narrowest = bytes}; }
  void add(int bytes) { add(of(bytes)); }
  void add(const Widths& other);
};

/// One parameter of an emitted kernel, in order.
struct Argument {
  enum class Kind : std::uint8_t {
    buffer,     ///< pointer to Program::buffers[index]
    scalar,     ///< the value of the run-time scalar; `index` is its index among the graph's inputs
    extent,     ///< the value of `extent`, as int or long long
    workspace,  ///< pointer to `Source::workspace_bytes` of scratch memory, private to a launch
    tickets,    ///< pointer to `Source::tickets` unsigned counters, 0 before and after a launch
    table,      ///< pointer to the values of `Source::table`, 8 bytes each
    table_values,  ///< the values of `Source::table` themselves
  };
  Kind kind = Kind::buffer;
  int index = 0;
  Extent extent = 0;   ///< of workspace and tickets: the offset, in bytes or counters
  std::string c_type;  ///< `const float*`, `int`, …
  Widths loads = {};   ///< of a buffer, as `stores`
  Widths stores = {};
};

/// A list of sections that run the same code: `rows` × `columns` values of `Source::table`, one row
/// per section.
struct TableList {
  std::size_t begin = 0;  ///< index of the first value
  std::size_t rows = 0;
  std::size_t columns = 0;
};

/// The predicted bytes that a launch moves. The caller evaluates the extents for concrete sizes.
struct Traffic {
  bool is_bound = false;  ///< `bytes_read` is an upper bound: addresses or conditions need data
  bool writes_are_bound = false;  ///< `bytes_written` is an upper bound too
  Extent bytes_read = 0;
  Extent bytes_written = 0;
};

/// CUDA C++ text of one kernel and its launch rule.
struct Source {
  std::string entry;
  std::string text;  ///< one `extern "C" __global__` function, without the prelude.
  /// Equal for all kernels that run the same code on their arguments, independent of the user's
  /// names. If empty, only equal `text` means equal code.
  std::string code_key = {};
  std::vector<Argument> arguments;
  /// Values that the kernel reads from a table instead of from a parameter each. They are the
  /// arrays and sizes of lists of sections that run the same code. The table is in device memory,
  /// or it is a parameter itself.
  std::vector<Argument> table = {};
  std::vector<TableList> lists = {};  ///< the parts of `table`
  Extent grid = 1;                    ///< blocks (x); 0 blocks: do not launch
  int threads = 0;
  std::int64_t shared_bytes = 0;
  /// Bytes of asynchronous copies that a block has in flight at once.
  std::int64_t copied_ahead = 0;
  Extent workspace_bytes = 0;
  Extent tickets = 0;
  bool has_barrier = false;  ///< block barriers or shuffles.
  bool has_met = false;      ///< a block barrier is behind all loads
  /// Since the last block barrier, only thread 0 has stored, or loaded what later phases overwrite.
  bool ends_met = false;
  /// A block may run this code again without a barrier before it. The code uses no shared memory
  /// but the exchange, and it ends with the half that it does not use first.
  bool may_follow_itself = false;
  /// Blocks wait for one another, so all blocks of a launch must be resident at once. The launch
  /// has at most as many blocks as fit, even if `grid` is larger; they stride over the rest.
  bool is_cooperative = false;
  /// `traffic` is of launches with at least so many blocks. With fewer, fewer tiles stay on the
  /// SMs, so that more bytes move. 0: any number of blocks.
  std::int64_t planned_blocks = 0;
  int cluster = 1;  ///< blocks per cluster; divides the grid.
  /// The kernel waits for earlier launches itself, so it may start before they have ended. The
  /// runtime also requires that no load of its machine code precedes the wait.
  bool may_start_early = false;
  int vector_bytes = 0;  ///< of the widest load or store of a buffer
  Traffic traffic;
  std::map<int, Extent>
      bytes_read_of;  ///< buffer → bytes of it in `traffic.bytes_read`; no workspace
};

/// Returns the first statement of a kernel that may start early, and sets `may_start_early`. Empty
/// before sm_90, and for cooperative kernels, which cannot start before all their blocks fit.
std::string write_early_start_wait(std::string_view arch, Source& source);

/// The argument for `table`: its Kind is `table` or `table_values`. Null if there is none.
const Argument* table_argument(const Source& source);
/// The number of values that a launch needs in device memory; 0 if the table is a parameter.
std::size_t table_values_in_memory(const Source& source);

/// The buffers among a kernel's arguments, then its table, in order and without repetition.
std::vector<int> buffers_of(const Source& source);

}  // namespace sinter
