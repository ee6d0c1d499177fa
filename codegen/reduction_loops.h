// The loops that row and column kernels share: parts of the tree, tiles of a part, passes over
// both.
#pragma once

#include <functional>

#include "codegen/kernel_writer.h"
#include "compiler/tree.h"

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

/// Loops over the parts and tiles of one pass. `tile_body(accumulator)` writes one tile; it may use
/// the variables `part` (if there are several) and `tile`. `finish_part` is written after each
/// part.
void write_tile_loops(KernelWriter& writer, const TreePlan& plan, bool unroll_tiles,
                      const std::function<void(const std::string& accumulator)>& tile_body,
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
