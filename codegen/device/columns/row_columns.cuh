// Column reductions in a kernel that also reduces rows. The threads of a row hold column states
// while they process many rows. The states combine within a block, then within a cluster, and then
// through the workspace in the last blocks. The distribution of rows does not change the order of
// additions: accumulators combine far first, and so do splits.
#pragma once

/// `number` with its `Bits` bits reversed. In this order a far-first tree can combine its leaves
/// one after the other.
template <int Bits>
__device__ __forceinline__ int reversed(int number) {
  int result = 0;
#pragma unroll
  for (int bit = 0; bit < Bits; ++bit) result |= (number >> bit & 1) << (Bits - 1 - bit);
  return result;
}

/// The states of `Count` adjacent columns, which one access moves.
template <class State, int Count>
struct alignas(Count == 1 ? alignof(State) : Count * sizeof(State)) Neighbours {
  State states[Count];
  static __device__ __forceinline__ Neighbours join(Neighbours a, Neighbours b) {
    Neighbours result;
#pragma unroll
    for (int i = 0; i < Count; ++i) result.states[i] = State::join(a.states[i], b.states[i]);
    return result;
  }
};

/// The states of Held columns of one thread, over 2^Depth accumulators in turn. States that wait
/// for their partner in the tree are in shared memory, interleaved for Stride threads.
template <class State, int Held, int Depth, int Stride>
struct ColumnStates {
  State states[Held];
  State* waiting;

  __device__ __forceinline__ explicit ColumnStates(unsigned char* memory)
      : waiting(reinterpret_cast<State*>(memory) + threadIdx.x) {
    clear();
  }
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < Held; ++i) states[i] = State::identity();
  }

  template <class T>
  __device__ __forceinline__ void add(int held, T element, long long row) {
    states[held].add(element, row);
  }

  /// The states of `Count` columns from `held` on.
  template <int Count>
  __device__ __forceinline__ Neighbours<State, Count> neighbours(int held) const {
    Neighbours<State, Count> result;
#pragma unroll
    for (int i = 0; i < Count; ++i) result.states[i] = states[held + i];
    return result;
  }

  /// Call after all rows of the accumulator reversed(turn) have been added.
  __device__ __forceinline__ void finish(int turn) {
    if constexpr (Depth > 0) {
      int level = 0;
#pragma unroll 1
      for (; turn >> level & 1; ++level) {
        const State* const of_level = waiting + level * Held * Stride;
#pragma unroll
        for (int i = 0; i < Held; ++i) states[i] = State::join(of_level[i * Stride], states[i]);
      }
      if (level == Depth) return;
      State* const of_level = waiting + level * Held * Stride;
#pragma unroll
      for (int i = 0; i < Held; ++i) of_level[i * Stride] = states[i];
      clear();
    }
  }
};

/// Combines far first `Count` states in the workspace with stride `step`.
template <int Count, class State>
__device__ __forceinline__ State join_column(const State* states, long long step) {
  if constexpr (Count == 1)
    return load_workspace(states, 0);
  else
    return State::join(join_column<Count / 2>(states, 2 * step),
                       join_column<Count / 2>(states + step, 2 * step));
}

/// Combines far first `Count` states in shared memory with stride `step`.
template <int Count, class State>
__device__ __forceinline__ State join_slots(const State* states, int step) {
  if constexpr (Count == 1)
    return *states;
  else
    return State::join(join_slots<Count / 2>(states, 2 * step),
                       join_slots<Count / 2>(states + step, 2 * step));
}

/// Combines far first the states of `Count` blocks of a cluster: rank `first` and every `step`
/// ranks after it. `state` is the address of this block's own state.
template <int Count, class State>
__device__ __forceinline__ State join_ranks(State* state, int first = 0, int step = 1) {
  if constexpr (Count == 1)
    return *cluster_map(state, first);
  else
    return State::join(join_ranks<Count / 2>(state, first, 2 * step),
                       join_ranks<Count / 2>(state, first + step, 2 * step));
}
