// Columns that the blocks of a cluster share. Blocks exchange their column states through
// distributed shared memory, and each block combines all of them far first.
#pragma once

/// Writes the states of this block's columns to `splits` in the shared memory of every block of the
/// cluster. All threads of a column must have its state. A cluster barrier must follow.
template <int Blocks, class Shape, class State>
__device__ __forceinline__ void share_states(State* splits, const State (&states)[Shape::kVector]) {
  constexpr int kAlong = Shape::kLanes * Shape::kGroups;
#pragma unroll
  for (int first = 0; first < Blocks; first += kAlong) {
    const int block = first + Shape::along();
    if (block >= Blocks) continue;
    State* theirs = cluster_map(splits, block);
#pragma unroll
    for (int k = 0; k < Shape::kVector; ++k)
      store_shared(theirs + place_in_tile<Shape>(cluster_rank(), k), states[k]);
  }
}

/// Combines the states that all blocks wrote to `splits`. Every thread of a column gets the result
/// if kToAll, else only the first one. The threads of a vector share its columns, so that each state
/// is read once.
template <int Blocks, bool kToAll, class Shape, class State>
__device__ __forceinline__ void join_shared_states(State* splits, State (&states)[Shape::kVector]) {
  constexpr int kAlong = Shape::kLanes * Shape::kGroups;
  constexpr bool kIsOwn = !kToAll && Shape::kVector == 1;  // the first thread combines its column
#pragma unroll
  for (int first = 0; first < Shape::kVector; first += kAlong) {
    const int k = first + Shape::along();
    if (k >= Shape::kVector) continue;
    State blocks[Blocks];
#pragma unroll
    for (int i = 0; i < Blocks; ++i) blocks[i] = load_shared(splits + place_in_tile<Shape>(i, k));
    join_far_first(blocks);
    if constexpr (kIsOwn)
      states[0] = blocks[0];
    else
      store_shared(splits + place_in_tile<Shape>(0, k), blocks[0]);
  }
  if constexpr (!kIsOwn) {
    block_barrier();
#pragma unroll
    for (int k = 0; k < Shape::kVector; ++k)
      states[k] = load_shared(splits + place_in_tile<Shape>(0, k));
  }
}
