// The reduction tree of the numerics contract, distributed over the threads of a block. The
// distribution does not change the order of additions. The accumulators of a part combine far first
// (a with a + half), and then the parts do.
#pragma once

/// Shared memory in which threads of a block exchange values. Uses alternate between two halves, so
/// that one barrier per use is enough.
struct Exchange {
  unsigned char* memory;
  int half_bytes;
  int turn;
  template <class T>
  __device__ __forceinline__ T* next() {
    turn ^= 1;
    return reinterpret_cast<T*>(memory + turn * half_bytes);
  }
};

/// Combines `states` far first into states[0].
template <int Count, class State>
__device__ __forceinline__ void join_far_first(State (&states)[Count]) {
#pragma unroll
  for (int half = Count / 2; half > 0; half /= 2)
#pragma unroll
    for (int i = 0; i < Count / 2; ++i)
      if (i < half) states[i] = State::join(states[i], states[i + half]);
}

#ifndef __CUDACC__
/// The same for the host compiler, which makes vector code of loops of constant lengths.
template <int Count, class State>
inline void join_halves(State* states) {
  if constexpr (Count > 1) {
    constexpr int kHalf = Count / 2;
    for (int i = 0; i < kHalf; ++i) states[i] = State::join(states[i], states[i + kHalf]);
    join_halves<kHalf>(states);
  }
}
#endif

/// Combines the states of `Lanes` adjacent lanes of a warp far first. Every lane gets the result.
template <int Lanes, class State>
__device__ __forceinline__ State join_lanes(State state) {
  static_assert(Lanes <= 32, "lanes of one warp");
#pragma unroll
  for (int mask = Lanes / 2; mask > 0; mask /= 2) {
    const State other = warp_xor(state, mask);
    const bool is_upper = !State::kCommutes && (threadIdx.x & mask) != 0;
    state = is_upper ? State::join(other, state) : State::join(state, other);
  }
  return state;
}

/// The distribution of a row over threads.
///   Threads: threads of one block that share the row.
///   Groups: groups of these threads, each with its own parts.
///   Accumulators: accumulators of one part.
///   Vector: elements that a thread reads at once, in whole chunks of 4.
///   Cluster: blocks that share the row, each with that many threads and groups.
template <int Threads, int Groups, int Accumulators, int Vector, int Cluster = 1>
struct RowShape {
  static constexpr int kThreads = Threads;
  static constexpr int kGroups = Groups;
  static constexpr int kLanes = Threads / Groups;
  static constexpr int kChunks = Vector / 4;
  static constexpr int kVector = Vector;
  static constexpr int kCluster = Cluster;
  static constexpr int kPerThread = Accumulators / (kLanes * kChunks);
  static_assert(kPerThread * kLanes * kChunks == Accumulators,
                "threads have equally many accumulators");

  /// The index of this thread among the threads of its row.
  static __device__ __forceinline__ int thread() { return static_cast<int>(threadIdx.x) % Threads; }
  static __device__ __forceinline__ int group() { return thread() / kLanes; }
  static __device__ __forceinline__ int lane() { return thread() % kLanes; }
  /// The index of this group among the groups of the cluster. Adjacent groups are in different
  /// blocks, so that far-first combines stay within a block until only blocks are left.
  static __device__ __forceinline__ int group_of_cluster() {
    return group() * Cluster + cluster_rank();
  }

  /// The first chunk, within a part, of this thread's vector with the index `tile`.
  static __device__ __forceinline__ int chunk(int tile) {
    return (tile * kLanes + lane()) * kChunks;
  }
};

/// The accumulators of one part of a row after the other, for the threads of `Shape`.
template <class State, class Shape>
struct RowAccumulators {
  State accumulators[Shape::kPerThread][Shape::kChunks];

  __device__ __forceinline__ RowAccumulators() { clear(); }
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < Shape::kPerThread; ++i)
#pragma unroll
      for (int j = 0; j < Shape::kChunks; ++j) accumulators[i][j] = State::identity();
  }

  /// Adds element `k` of this thread's vector with the index `tile`.
  template <class T, class Index>
  __device__ __forceinline__ void add(int tile, int k, T element, Index index) {
    accumulators[tile % Shape::kPerThread][k / 4].add(element, index);
  }

  /// For CPUs: adds the first `count` elements of this thread's vector with the index `tile`.
  /// `first` is the index of its first element. The loop is along the accumulators, which are
  /// independent, so a compiler can vectorise it.
  template <class Elements>
  __device__ __forceinline__ void add_vector(int tile, const Elements& vector, long long first,
                                             int count) {
    if constexpr (State::kAnyOrder) return add_along(vector, first, count);
    State* const own = accumulators[tile % Shape::kPerThread];
    if (count == Shape::kVector) {
      for (int j = 0; j < Shape::kChunks; ++j) {
        State state = own[j];
        state.add(vector[4 * j], first + 4 * j);
        state.add(vector[4 * j + 1], first + 4 * j + 1);
        state.add(vector[4 * j + 2], first + 4 * j + 2);
        state.add(vector[4 * j + 3], first + 4 * j + 3);
        own[j] = state;
      }
    } else {
      for (int i = 0; i < count; ++i) own[i / 4].add(vector[i], first + i);
    }
  }

  /// The state of the part whose elements have been added. Every thread of the group gets it. The
  /// next elements belong to the next part.
  __device__ __forceinline__ State take_part(Exchange& exchange) {
#ifndef __CUDACC__
    if constexpr (Shape::kLanes == 1) {  // the same tree, with vectors of accumulators
      join_halves<Shape::kPerThread * Shape::kChunks>(accumulators[0]);
      const State part = accumulators[0][0];
      clear();
      return part;
    }
#endif
    State mine[Shape::kChunks];
#pragma unroll
    for (int j = 0; j < Shape::kChunks; ++j) {
      State column[Shape::kPerThread];
#pragma unroll
      for (int i = 0; i < Shape::kPerThread; ++i) column[i] = accumulators[i][j];
      join_far_first(column);
      mine[j] = column[0];
    }
    if constexpr (Shape::kLanes > 32) across_warps(mine, exchange);
#pragma unroll
    for (int j = 0; j < Shape::kChunks; ++j)
      mine[j] = join_lanes<(Shape::kLanes > 32 ? 32 : Shape::kLanes)>(mine[j]);
    join_far_first(mine);
    clear();
    return mine[0];
  }

 private:
  /// Adds consecutive elements to consecutive states, without the strides of chunks.
  template <class Elements>
  __device__ __forceinline__ void add_along(const Elements& vector, long long first, int count) {
    constexpr int kAll = Shape::kPerThread * Shape::kChunks;
    constexpr int kUsed = kAll < Shape::kVector ? kAll : Shape::kVector;
    State* const states = accumulators[0];
    if (count == Shape::kVector) {
      for (int k = 0; k < Shape::kVector; k += kUsed)
        for (int i = 0; i < kUsed; ++i) states[i].add(vector[k + i], first + k + i);
    } else {
      for (int k = 0; k < count; ++k) states[k % kUsed].add(vector[k], first + k);
    }
  }

  /// Combines the warps of a group lane by lane. Every warp gets the result.
  __device__ __forceinline__ void across_warps(State (&mine)[Shape::kChunks], Exchange& exchange) {
    constexpr int kWarps = Shape::kLanes / 32;
    const int thread = static_cast<int>(threadIdx.x);
    State* shared = exchange.next<State>();
#pragma unroll
    for (int j = 0; j < Shape::kChunks; ++j) store_shared(shared + place(thread / 32, j), mine[j]);
    block_barrier();
    const int first = thread / Shape::kLanes * kWarps;
#pragma unroll
    for (int j = 0; j < Shape::kChunks; ++j)
      mine[j] = join_warps<(kWarps > 0 ? kWarps : 1), 1>(shared, first, j);
  }

  /// Combines the states of every `Step`-th of the warps from `first` on, far first. Loads few of
  /// them at once, because each takes registers.
  template <int Warps, int Step>
  static __device__ __forceinline__ State join_warps(const State* shared, int first, int j) {
    constexpr int kMostBytes = 64;
    if constexpr (Warps * sizeof(State) > kMostBytes) {
      const State near = join_warps<Warps / 2, 2 * Step>(shared, first, j);
      return State::join(near, join_warps<Warps / 2, 2 * Step>(shared, first + Step, j));
    } else {
      State warps[Warps];
#pragma unroll
      for (int i = 0; i < Warps; ++i) warps[i] = load_shared(shared + place(first + i * Step, j));
      join_far_first(warps);
      return warps[0];
    }
  }

  /// The index in the exchange of state `j` of this lane of a warp. The lanes use adjacent states.
  static __device__ __forceinline__ int place(int warp, int j) {
    return (warp * Shape::kChunks + j) * 32 + static_cast<int>(threadIdx.x) % 32;
  }
};

/// Combines the states of the groups of a row. Every thread of the row gets the result. If there
/// are several groups, only lane 0 of each needs its state.
template <class Shape, class State>
__device__ __forceinline__ State join_groups(State own, Exchange& exchange) {
  if constexpr (Shape::kGroups == 1) return own;
  State* shared = exchange.next<State>();
  const int row = static_cast<int>(threadIdx.x) / Shape::kThreads;
  if (Shape::lane() == 0) store_shared(shared + row * Shape::kGroups + Shape::group(), own);
  block_barrier();
  State groups[Shape::kGroups];
#pragma unroll
  for (int i = 0; i < Shape::kGroups; ++i)
    groups[i] = load_shared(shared + row * Shape::kGroups + i);
  join_far_first(groups);
  return groups[0];
}

/// The same for a row that the blocks of a cluster share. Every thread of them gets the result.
/// Each block writes its own state to `cluster` of all blocks. Uses alternate between two halves
/// there too: a barrier separates each write to a half from the earlier reads of that half.
template <class Shape, class State>
__device__ __forceinline__ State join_groups(State part, Exchange& exchange, Exchange& cluster) {
  static_assert(Shape::kThreads >= Shape::kCluster, "a thread hands over to each block");
  const State own = join_groups<Shape>(part, exchange);
  State* shared = cluster.next<State>();
  if (Shape::thread() < Shape::kCluster)
    store_shared(cluster_map(shared + cluster_rank(), Shape::thread()), own);
  cluster_arrive();
  cluster_wait();
  State blocks[Shape::kCluster];
#pragma unroll
  for (int i = 0; i < Shape::kCluster; ++i) blocks[i] = load_shared(shared + i);
  join_far_first(blocks);
  return blocks[0];
}

/// One reduction of a row by the threads of `Shape`, with Parts parts per group. Every thread of
/// the block must call finish_part and finish. An unrolled loop over the parts keeps their states
/// in registers; other loops need RolledRowReduction.
template <class State, class Shape, int Parts>
struct RowReduction : RowAccumulators<State, Shape> {
  State parts[Parts];

  /// Call after all elements of part `part` of this group have been added.
  __device__ __forceinline__ void finish_part(int part, Exchange& exchange) {
    parts[part] = this->take_part(exchange);
  }
  /// The state of the whole row: join_groups.
  template <class... Exchanges>
  __device__ __forceinline__ State finish(Exchanges&... exchanges) {
    join_far_first(parts);
    return join_groups<Shape>(parts[0], exchanges...);
  }
};

/// RowReduction for a loop that is not unrolled. An array in registers needs constant indices, so
/// the states wait in shared memory. There is one for each part, group and row of the block.
template <class State, class Shape, int Parts>
struct RolledRowReduction : RowAccumulators<State, Shape> {
  unsigned char* memory;

  __device__ __forceinline__ explicit RolledRowReduction(unsigned char* shared) : memory(shared) {}

  __device__ __forceinline__ void finish_part(int part, Exchange& exchange) {
    const State state = this->take_part(exchange);
    if (Shape::lane() == 0) store_shared(place(part), state);
  }
  template <class... Exchanges>
  __device__ __forceinline__ State finish(Exchanges&... exchanges) {
    // Lane 0 has stored the states of all parts, so it can combine two of them without a barrier.
#pragma unroll 1
    for (int half = Parts / 2; half > 0; half /= 2) {
      if constexpr (Parts > 2) block_barrier();
      for (int i = Shape::lane(); i < half; i += Shape::kLanes)
        store_shared(place(i), State::join(load_shared(place(i)), load_shared(place(i + half))));
    }
    State group = State::identity();
    // Lane 0 has stored the state of the group, and hands it to the other groups.
    if constexpr (Shape::kGroups == 1) block_barrier();
    if (Shape::kGroups == 1 || Shape::lane() == 0) group = load_shared(place(0));
    return join_groups<Shape>(group, exchanges...);
  }

 private:
  /// The place of a state of this group. It is computed at each use: a pointer would take a
  /// register throughout the loop over the parts.
  __device__ __forceinline__ State* place(int part) const {
    const int row = static_cast<int>(threadIdx.x) / Shape::kThreads;
    return reinterpret_cast<State*>(memory) + (row * Parts + part) * Shape::kGroups +
           Shape::group();
  }
};

/// `number` with reversed bits, for `Count` numbers (a power of two). In this order a far-first
/// tree can combine its leaves one after the other.
template <int Count>
__device__ __forceinline__ int far_first(int number) {
  int result = 0;
#pragma unroll
  for (int bit = 1; bit < Count; bit *= 2) {
    result = 2 * result + (number & 1);
    number >>= 1;
  }
  return result;
}

/// The number of levels of a binary tree with `Count` leaves.
template <int Count>
struct TreeLevels {
  static constexpr int kNumber = 1 + TreeLevels<Count / 2>::kNumber;
};
template <>
struct TreeLevels<1> {
  static constexpr int kNumber = 0;
};

/// Combines `Count` states far first as they arrive in the order of far_first. Holds one state per
/// level of the tree.
template <class State, int Count>
struct FarFirst {
  static constexpr int kLevels = TreeLevels<Count>::kNumber;
  State waiting[kLevels > 0 ? kLevels : 1];

  // No code reads these initial values. But without them, the compiler sees registers that may be
  // read before they are written. Their live range would reach back to the previous write, through
  // all other sections of a horizontally fused kernel.
  __device__ __forceinline__ FarFirst() {
#pragma unroll
    for (int level = 0; level < kLevels; ++level) waiting[level] = State::identity();
  }

  /// Takes the state with the index `number`. Returns the largest subtree that it completes; for
  /// the last state this is the whole tree.
  __device__ __forceinline__ State take(int number, State state) {
    bool is_done = false;
#pragma unroll
    for (int level = 0; level < kLevels; ++level) {
      if (is_done) continue;
      if (number >> level & 1) {
        state = State::join(waiting[level], state);
      } else {
        waiting[level] = state;
        is_done = true;
      }
    }
    return state;
  }
};

/// Combines the `parts` states of one row in `workspace`, each from its own block, far first. One
/// block of Threads threads calls this, and every thread gets the result.
template <int Threads, class State>
__device__ __forceinline__ State join_parts(const State* workspace, int parts, Exchange& exchange) {
  constexpr int kMost = Threads < 1024 ? 1024 / Threads : 1;  // there are at most 1024 parts
  const int thread = static_cast<int>(threadIdx.x);
  const int strides = parts > Threads ? parts / Threads : 1;
  State mine[kMost];
#pragma unroll
  for (int i = 0; i < kMost; ++i)
    if (i < strides && thread < parts) mine[i] = load_workspace(workspace, thread + i * Threads);
#pragma unroll
  for (int half = kMost / 2; half > 0; half /= 2)
    if (half < strides && thread < parts)
#pragma unroll
      for (int i = 0; i < kMost / 2; ++i)
        if (i < half) mine[i] = State::join(mine[i], mine[i + half]);
  State* shared = exchange.next<State>();
  if (thread < parts) store_shared(shared + thread, mine[0]);
  block_barrier();
#pragma unroll 1
  for (int half = (parts < Threads ? parts : Threads) / 2; half > 0; half /= 2) {
    if (thread < half)
      store_shared(shared + thread,
                   State::join(load_shared(shared + thread), load_shared(shared + thread + half)));
    block_barrier();
  }
  return load_shared(shared);
}
