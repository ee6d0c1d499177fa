// The loops that row and column kernels share: parts of the tree, tiles of a part, passes over
// both.
#pragma once

#include <functional>

#include "codegen/statements/kernel_writer.h"
#include "codegen/statements/loads_ahead.h"
#include "compiler/program/reduction_tree.h"

namespace sinter {

/// The tree of a kernel's reduced axis as its schedule deals it out.
struct TreePlan {
  Tree tree;              ///< at the sizes the program is planned for
  int lanes = 1;          ///< threads of one group
  int vector_chunks = 1;  ///< chunks per vector along the reduced axis
  int parts_per_group = 1;
  int accumulators_per_thread = 1;
  bool is_fixed = true;          ///< the reduced extent is a number
  std::int64_t tiles = 0;        ///< vectors per thread and part, if fixed
  std::int64_t whole_tiles = 0;  ///< those that are whole in all threads and parts, if fixed
  bool whole_parts = false;      ///< every tile of every part lies within the part
  bool whole_extent = false;     ///< and every part within the extent
  bool whole_vectors = false;    ///< the extent is a multiple of the vector
};
TreePlan plan_tree(const KernelWriter& writer, int vector_chunks);

/// `RowReduction<Max<float>, Shape, 1> max_1;` for each reduction of `pass`; returns their indices.
std::vector<int> declare_reductions(KernelWriter& writer, std::string_view type, int parts,
                                    int pass);
/// Element stores of `pass`.
std::vector<int> stores_of_pass(const Body& body, int pass);

/// What a loop over tiles says of the one that is written.
struct TileLoop {
  std::string accumulator;   ///< variable that picks it
  bool is_whole = false;     ///< every thread has all elements of it: nothing is to be asked
  bool is_unrolled = false;  ///< each `tile` is known to the compiler
};

/// What is written of each tile. It may use the variables `part` (if there are several) and `tile`.
struct TileTexts {
  std::function<void(const TileLoop&)> body;
  /// Writes `inside` where the tile is guarded by what of it exists, as the body is.
  std::function<void(const std::function<void(const Tile&)>& inside, const TileLoop&)> guarded = {};
  /// No load reads an element at two places of the reduced axis: loops may have two texts.
  bool reads_once = true;
  /// Loads that are made of so many tiles at once, in loops that are rolled.
  LoadsAhead ahead = {};
  int at_once = 1;
};

/// Loops over the parts and tiles of one pass; `finish_part` is written after each part.
void write_tile_loops(KernelWriter& writer, const TreePlan& plan, bool unroll_tiles,
                      TileTexts texts,
                      const std::function<void(const std::string& part)>& finish_part);

/// The number of the chunk at which this thread's part begins, as an expression.
std::string part_start(KernelWriter& writer, const TreePlan& plan, const std::string& part);
/// Chunks per part, as an expression.
std::string chunks_text(const TreePlan& plan);

/// Declares `Exchange exchange` and sets the source's shared memory; `per_use` in bytes.
void declare_exchange(KernelWriter& writer, std::int64_t per_use);
/// The widest accumulator of the kernel's reductions, in bytes.
int widest_state(const KernelWriter& writer);
/// The result of an empty reduction, as text.
std::string empty_result(const BodyReduction& reduction);

}  // namespace sinter
