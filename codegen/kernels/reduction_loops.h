// The reduction tree as kernels of every kind declare it, and the loops over parts and tiles of row
// and full reductions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/statements/kernel_writer.h"
#include "codegen/statements/loads_ahead.h"
#include "compiler/program/reduction_tree.h"

namespace sinter {

/// The reduction tree of a kernel's reduced axis, distributed as its schedule says.
struct TreePlan {
  Tree tree;              ///< at the planned sizes; resident: of the longest row of the size class
  bool is_empty = false;  ///< there is no element, although arrays have space for one
  int lanes = 1;          ///< threads of one group
  int vector_chunks = 1;  ///< chunks per vector along the reduced axis
  int parts_per_group = 1;
  int accumulators_per_thread = 1;
  bool is_fixed = true;    ///< the reduced extent is a constant
  std::int64_t tiles = 0;  ///< vectors per thread and part, at most; only if fixed or resident
  std::int64_t whole_tiles = 0;  ///< tiles that are whole in all threads and parts of any row
  bool whole_parts = false;      ///< no tile crosses the end of its part
  bool whole_extent = false;     ///< no part crosses the end of the extent
  bool whole_vectors = false;    ///< the extent is a multiple of the vector
  bool ends_parts = false;       ///< a vector may cross the end of its part
};
TreePlan plan_tree(const KernelWriter& writer, int vector_chunks);

/// Writes `RowReduction<Max<float>, Shape, 1> max_1;` for each reduction of `pass`. Returns the
/// indices of these reductions in Body::reductions.
std::vector<int> declare_reductions(KernelWriter& writer, std::string_view type, int parts,
                                    int pass);
/// The same for rows, in a loop over the parts that may be unrolled.
std::vector<int> declare_row_reductions(KernelWriter& writer, const TreePlan& plan,
                                        bool is_unrolled, int pass);
/// The declaration of a reduction of rows in a loop over `parts` parts that is not unrolled.
/// Reserves shared memory for `states` states that wait: one per part, group and row of the block.
std::string rolled_row_reduction(KernelWriter& writer, const BodyReduction& reduction,
                                 std::string_view shape, std::int64_t parts, std::int64_t states,
                                 const std::string& name);
/// The name of the variable that declare_reductions declared for Body::reductions[index].
const std::string& tree_name(const KernelWriter& writer, int index);
/// Declares the result of `reduction`, the scalar `expression`.
void declare_result(KernelWriter& writer, const BodyReduction& reduction,
                    const std::string& expression);
/// The indices of the stores of `pass` that vary along the reduced axis.
std::vector<int> stores_of_pass(const Body& body, int pass);
/// True if the kernel loads values behind its last pass over the reduced axis.
bool has_late_loads(const Body& body);
/// The values that `pass` computes and keeps for later passes.
std::vector<int> kept_by_pass(const PassPlan& passes, int pass);

/// The loop that encloses the text of a tile.
struct TileLoop {
  std::string accumulator;   ///< variable that selects the accumulator
  bool is_whole = false;     ///< all elements exist in every thread, so the tile needs no guard
  bool is_unrolled = false;  ///< `tile` is a constant after unrolling
};

/// Functions that write the text of a tile. The text may use `tile`, and `part` if there are
/// several parts.
struct TileWriters {
  std::function<void(const TileLoop&)> body;
  /// Writes `inside` under the same guards as the body.
  std::function<void(const std::function<void(const Tile&)>& inside, const TileLoop&)> guarded = {};
  /// No load reads an element at two positions of the reduced axis, so loops may have two texts.
  bool reads_once = true;
  /// Loads that a rolled loop makes for `at_once` tiles before it computes the first of them.
  LoadsAhead ahead = {};
  int at_once = 1;
};

/// Writes loops over the parts and tiles of one pass. `finish_part` writes the end of each part.
void write_tile_loops(KernelWriter& writer, const TreePlan& plan, bool unroll_tiles,
                      TileWriters tile_writers,
                      const std::function<void(const std::string& part)>& finish_part);

/// Writes the text of the tile at position `column`, guarded by the elements that exist. `is_whole`
/// is a condition that implies that all of them exist; empty: none is known.
void write_guarded_tile(KernelWriter& writer, const TreePlan& plan, const TileLoop& loop,
                        const std::string& is_whole,
                        const std::function<void(const Tile&)>& inside);

/// The index of the first chunk of this thread's part, as an expression.
std::string part_start(KernelWriter& writer, const TreePlan& plan, const std::string& part);
/// Chunks per part, as an expression.
std::string chunks_text(const TreePlan& plan);
/// Declares `chunks`, which chunks_text returns if the reduced extent is no constant.
void declare_chunks(KernelWriter& writer, const TreePlan& plan);

/// Declares `live` and the index `name`: `own` if it exists, else `last`. Threads past the last
/// position repeat its work, so that they reach every barrier, and store nothing. `condition` is a
/// further condition of `live`, with a trailing ` && `.
std::string declare_live(KernelWriter& writer, std::string_view name, const std::string& own,
                         const std::string& last, const std::string& condition = "");

/// Declares `Shape` for the threads of a row, and an exchange of at least `exchange_bytes` per use.
void declare_row_shape(KernelWriter& writer, const TreePlan& plan, std::int64_t exchange_bytes);
/// Declares `Exchange exchange`, with `per_use` bytes per use, and sets the source's shared memory.
void declare_exchange(KernelWriter& writer, std::int64_t per_use);
/// Sets Source::may_follow_itself of a kernel that uses its exchange, of `per_use` bytes, so often.
void set_exchange_uses(KernelWriter& writer, std::int64_t per_use, std::int64_t uses);
/// Declares `Exchange cluster` between the blocks of a cluster. It is separate from the exchange
/// within a block, because blocks progress independently between two cluster barriers. The block
/// arrives at the first cluster barrier.
void declare_cluster_exchange(KernelWriter& writer, std::int64_t per_use);
/// Waits at that barrier. Comes before the first access to another block's memory.
void write_cluster_start_wait(KernelWriter& writer);
/// The widest accumulator of the kernel's reductions, in bytes.
int widest_state(const KernelWriter& writer);
/// The result of an empty reduction, as text.
std::string empty_result(const BodyReduction& reduction);

}  // namespace sinter
