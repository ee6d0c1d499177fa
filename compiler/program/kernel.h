// The second IR: kernels over iteration spaces, and the programs that they form.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/program/schedule.h"
#include "ir/graph/node.h"
#include "ir/support/dense_map.h"
#include "ir/text/print.h"
#include "sinter/graph.h"
#include "sinter/numerics.h"

namespace sinter {

/// A range of memory that a program accesses.
struct Buffer {
  enum class Kind : std::uint8_t {
    input,      ///< bound by the caller; `index` counts the graph's inputs
    output,     ///< bound by the caller; `index` counts the graph's outputs
    temporary,  ///< in the arena
  };
  Kind kind = Kind::temporary;
  int index = 0;
  const Node* node = nullptr;  ///< the node whose value it holds
  DType dtype = DType::f32;
  std::vector<Extent> strides;  ///< in elements, one per axis of the node
  Extent elements;   ///< from the first to the last one accessed; meaningless if an extent is 0
  std::string name;  ///< of an input or output. A temporary uses its node's name.
  /// Of a sub-buffer: the buffer that contains it, which is not a sub-buffer itself; -1: none.
  int parent = -1;
  Extent offset = 0;  ///< of a sub-buffer: its start in the containing buffer, in elements
};
/// The number of elements of the buffer that the program may access for these values of the
/// symbols.
std::int64_t elements_of(const Buffer& buffer, std::span<const std::int64_t> symbols);
std::int64_t bytes_of(const Buffer& buffer, std::span<const std::int64_t> symbols);

enum class KernelKind : std::uint8_t {
  pointwise,          ///< no reduction
  row_reduce,         ///< the reduced axis is contiguous, or no axis is
  column_reduce,      ///< a parallel axis is contiguous
  scatter,            ///< writes rows at indices: each block owns some rows and reads all indices
  scan,               ///< prefix reductions along rows, tile by tile
  row_column_reduce,  ///< reduces each row, and across all rows at each position
  full_reduce,        ///< parts of a long row in many blocks; the last block finishes
  horizontal,         ///< several kernels fused horizontally: sections of one launch
  opaque,             ///< not a kernel but a call of user code (ir/record/opaque.h)
};
std::string_view name(KernelKind kind);

/// A value that a kernel writes, and its destination.
struct Store {
  const Node* node = nullptr;
  int buffer = 0;
};

/// A fused group of nodes with one iteration space. A horizontally fused kernel instead holds its
/// iteration spaces in `sections`; its other members describe the whole launch.
struct Kernel {
  std::string name;
  KernelKind kind = KernelKind::pointwise;
  std::vector<const Node*> nodes;  ///< computed in this kernel, operands first
  std::vector<Store> stores;
  std::vector<Extent> parallel;  ///< extents of the parallel axes
  Extent reduced = 1;            ///< the flattened extent of the reduced axes; 1: none
  std::vector<int> depends_on;   ///< earlier kernels of the program that must finish first
  Schedule schedule;             ///< the heuristic's choice, or the tuned one
  /// The heuristic's choice first. Equal kernels share one list.
  SharedSchedules candidates;
  std::vector<int> reads;          ///< buffers
  double bytes = 0;                ///< predicted bytes read and written
  double seconds = 0;              ///< predicted time in a launch of its own
  std::vector<std::string> notes;  ///< reasons, in words, why it is not faster
  std::vector<Kernel> sections;    ///< of a horizontally fused kernel, by ascending phase
  /// Of a horizontally fused kernel: the temporaries that only its sections write and read.
  std::vector<int> internal_buffers = {};
  int phase = 0;  ///< of a section. The sections that it depends on run in earlier phases.
  /// Of a section: sections with the same number run the same code on their own arrays. A table
  /// holds these arrays and any differing sizes. -1: too few equal sections for a table.
  int foreach_list = -1;
  /// Of a horizontally fused kernel. True: only its last block runs the phases after the first,
  /// without a grid barrier. False: all blocks wait at a grid barrier between phases.
  bool has_tail = false;
};

/// The number of phases of a horizontally fused kernel; 1 for any other kernel.
int phases(const Kernel& kernel);

/// The reason why two kernels are separate.
struct Boundary {
  std::string producer;
  std::string consumer;
  std::string reason;
  bool is_inside = false;  ///< between sections of one horizontally fused kernel
  double bytes = 0;        ///< arrays that cross memory here; one kernel would not move them
};

/// A condition on the symbols that a program assumes: low <= value <= high, and divisor divides
/// value. Sizes that satisfy all guards form one size class and share the program's kernels.
struct Guard {
  Extent value;
  std::int64_t low = INT64_MIN;
  std::int64_t high = INT64_MAX;
  std::int64_t divisor = 1;
  std::string reason;
};

/// Facts about sizes and pointers that a plan may rely on.
struct Facts {
  std::vector<std::int64_t> symbols;  ///< the sizes to plan for, by symbol id
  std::int64_t alignment = 16;        ///< bytes, of every bound pointer
  std::vector<std::int64_t> divisors =
      {};  ///< of each symbol, as its guard states; filled by schedule
};

/// Counters of planning work. They grow at most linearly with the graph.
struct PlanWork {
  std::int64_t candidates_scored = 0;   ///< pairs of groups that entered the queue
  std::int64_t cycle_check_visits = 0;  ///< edges followed to find paths between two groups
  std::int64_t bodies_built = 0;        ///< to evaluate whether nodes fit one kernel
  std::int64_t values_built = 0;        ///< nodes of those bodies
  std::int64_t kernels_scheduled = 0;   ///< other kernels reuse the schedule of an equal one
};

/// A scheduled program: its kernels, in execution order.
struct Program {
  std::shared_ptr<Graph> graph;  ///< simplified; owns the nodes
  std::vector<Buffer> buffers;
  DenseMap<const Node*, int> buffer_of;  ///< the buffer that holds a stored value or an input
  std::vector<Kernel> kernels;           ///< in an order that respects all dependencies
  std::vector<Boundary> boundaries;
  std::vector<Guard> guards;
  Facts facts;
  std::string arch;                   ///< the target architecture
  std::int64_t shared_per_block = 0;  ///< bytes of the target; 0 after loading from a file
  Numerics numerics;                  ///< rounding and math options of its kernels
  int recorded_ops = 0;               ///< of the graph before simplification
  PlanWork work;
  std::shared_ptr<LazyValueNames> lazy_names = std::make_shared<LazyValueNames>();

  /// The names under which users see the graph's values.
  const ValueNames& names() const { return lazy_names->of(graph->data()); }
  std::string name_of(const Buffer& buffer) const {
    return buffer.kind == Buffer::Kind::temporary ? names().of(buffer.node) : buffer.name;
  }
};

/// The largest index of kernels with 32-bit indices. It leaves room for the threads of the last
/// block.
inline constexpr std::int64_t kLargestIndex = (std::int64_t{1} << 31) - (1 << 20);
/// The positions of the kernel's iteration space. With broadcasts there are more of them than
/// elements in any buffer.
Extent iterations(const Kernel& kernel);
/// True if `kLargestIndex` bounds the iterations of `kernel` at the sizes of `program`.
bool iterations_fit(const Program& program, const Kernel& kernel);
/// True if `kLargestIndex` bounds the elements of every buffer at the sizes of `program`.
bool buffers_fit(const Program& program);
/// True if every index of `kernel` fits in 32 bits at the sizes of `program`.
bool fits_32_bits(const Program& program, const Kernel& kernel);

}  // namespace sinter
