// The second IR: kernels over iteration spaces, and the program they make up.
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

/// Memory that a program touches.
struct Buffer {
  enum class Kind : std::uint8_t {
    input,      ///< bound by the caller; `index` counts the graph's inputs
    output,     ///< bound by the caller; `index` counts the graph's outputs
    temporary,  ///< in the arena
  };
  Kind kind = Kind::temporary;
  int index = 0;
  const Node* node = nullptr;  ///< whose value it holds
  DType dtype = DType::f32;
  std::vector<Extent> strides;  ///< in elements, one per axis of the node
  Extent elements;  ///< from the first to the last one touched; without meaning where one axis is 0
  std::string name;   ///< of an input or output; a temporary has that of its node
  int whole = -1;     ///< the buffer that it is a part of, which is no part itself; -1: of none
  Extent offset = 0;  ///< of a part: where it begins in the whole, in elements
};
/// How many elements of the buffer may be touched when the symbols have these values.
std::int64_t elements_of(const Buffer& buffer, std::span<const std::int64_t> symbols);
std::int64_t bytes_of(const Buffer& buffer, std::span<const std::int64_t> symbols);

enum class KernelKind : std::uint8_t {
  pointwise,          ///< no reduction
  row_reduce,         ///< the reduced axis is contiguous, or nothing is
  column_reduce,      ///< an axis that stays is contiguous
  scatter,            ///< rows written at indices: each block owns some and reads all indices
  scan,               ///< each element of a row is made from all before it, tile after tile
  row_column_reduce,  ///< rows are reduced, and all rows at each place within them
  full_reduce,        ///< parts of a long row in many blocks; the last one finishes
  horizontal,         ///< several kernels fused horizontally: sections of one launch
  opaque,             ///< no kernel: a call of the user's (ir/record/opaque.h)
};
std::string_view name(KernelKind kind);

/// What a kernel writes.
struct Store {
  const Node* node = nullptr;
  int buffer = 0;
};

/// A fused group as IR: nodes with one iteration space. Or several of them joined into one launch:
/// then `sections` has the iteration spaces, and the rest is what they have together.
struct Kernel {
  std::string name;
  KernelKind kind = KernelKind::pointwise;
  std::vector<const Node*> nodes;  ///< computed in here, operands first
  std::vector<Store> stores;
  std::vector<Extent> parallel;  ///< extents of the axes that stay
  Extent reduced = 1;            ///< the flattened extent of the axes that go; 1: none
  std::vector<int> depends_on;   ///< earlier kernels of the program that must be done
  Schedule schedule;             ///< the heuristic's choice, or the tuned one
  /// The heuristic's choice first. Kernels that are alike share theirs.
  SharedSchedules candidates;
  std::vector<int> reads;          ///< buffers
  double bytes = 0;                ///< that it reads and writes, as predicted
  double seconds = 0;              ///< that it takes in a launch of its own, likewise
  std::vector<std::string> notes;  ///< why it is not faster, in words
  std::vector<Kernel> sections;    ///< of a horizontally fused kernel, by ascending phase
  /// Of a horizontally fused kernel: buffers that some of its sections write and nothing else
  /// reads.
  std::vector<int> inner = {};
  int phase = 0;  ///< of a section: what it needs of others is done in the phases before
  /// Of a section: those with the same number run the same code on arrays, and maybe sizes, of
  /// their own, which a table holds. -1: there are too few like it.
  int list = -1;
  /// Of a horizontally fused kernel: its last block alone carries out all phases but the first, and
  /// nobody waits; else all blocks wait for one another between phases.
  bool has_tail = false;
};

/// The number of phases of a horizontally fused kernel; 1 of any other.
int phases(const Kernel& kernel);

/// Why two kernels are two.
struct Boundary {
  std::string producer;
  std::string consumer;
  std::string reason;
  bool is_inside = false;  ///< between sections of one joined kernel
  double bytes = 0;        ///< of arrays that cross memory for it: one kernel would not move them
};

/// What a program assumes of the symbols: low <= value <= high and divisor divides value. Sizes
/// that keep to all guards are one size class and share the program's kernels.
struct Guard {
  Extent value;
  std::int64_t low = INT64_MIN;
  std::int64_t high = INT64_MAX;
  std::int64_t divisor = 1;
  std::string reason;
};

/// What a plan may rely on.
struct Facts {
  std::vector<std::int64_t> symbols;  ///< the sizes it is planned for, by symbol id
  std::int64_t alignment = 16;        ///< bytes, of every bound pointer
  std::vector<std::int64_t> divisors =
      {};  ///< of each symbol, what a guard says; filled by schedule
};

/// What planning went through, counted: it grows as the graph does, and no faster.
struct PlanWork {
  std::int64_t candidates_scored = 0;   ///< pairs of groups that were given a place in the queue
  std::int64_t cycle_check_visits = 0;  ///< edges followed to see what lies between two groups
  std::int64_t bodies_built = 0;        ///< to judge what may become one kernel
  std::int64_t values_built = 0;        ///< nodes of those bodies
  std::int64_t kernels_scheduled = 0;   ///< the others are like one of these
};

/// A scheduled program: what runs, in order.
struct Program {
  std::shared_ptr<Graph> graph;  ///< simplified; owns the nodes
  std::vector<Buffer> buffers;
  DenseMap<const Node*, int> buffer_of;  ///< where a stored value or an input is read from
  std::vector<Kernel> kernels;           ///< in an order that keeps all dependencies
  std::vector<Boundary> boundaries;
  std::vector<Guard> guards;
  Facts facts;
  std::string arch;      ///< that it is planned for
  Numerics numerics;     ///< how its kernels round and compute
  int recorded_ops = 0;  ///< of the graph before simplification
  PlanWork work;
  std::shared_ptr<LazyValueNames> lazy_names = std::make_shared<LazyValueNames>();

  /// What users read the graph's values as.
  const ValueNames& names() const { return lazy_names->of(graph->data()); }
  std::string name_of(const Buffer& buffer) const {
    return buffer.kind == Buffer::Kind::temporary ? names().of(buffer.node) : buffer.name;
  }
};

/// The largest 32-bit index that kernels compute with, which leaves room for the last block's
/// threads.
inline constexpr std::int64_t kLargestIndex = (std::int64_t{1} << 31) - (1 << 20);
/// True if every index of `program`'s kernels fits in 32 bits at its sizes.
bool fits_32_bits(const Program& program, const Kernel& kernel);

}  // namespace sinter
