// The reduction tree of the numerics contract, dealt out to the threads of a block. Whoever
// computes which part of it, the order of additions is the same: accumulators of a part are joined
// far first (a with a + half), then the parts.
#pragma once

/// Shared memory in which threads of a block hand values over. Two halves in turn, so that one
/// barrier per use is enough.
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

/// Joins `states` far first into states[0].
template <int Count, class State>
__device__ __forceinline__ void join_far_first(State (&states)[Count]) {
#pragma unroll
  for (int half = Count / 2; half > 0; half /= 2)
#pragma unroll
    for (int i = 0; i < Count / 2; ++i)
      if (i < half) states[i] = State::join(states[i], states[i + half]);
}

/// Joins the states of `Lanes` neighbouring lanes of a warp far first; every lane gets the result.
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

/// How a row is dealt out. Threads: of one row. Groups: of these threads, each with its own parts.
/// Accumulators: of one part. Vector: elements that a thread reads at once, whole chunks of 4.
/// Cluster: blocks that share a row, with as many threads and groups each.
template <int Threads, int Groups, int Accumulators, int Vector, int Cluster = 1>
struct RowShape {
  static constexpr int kThreads = Threads;
  static constexpr int kGroups = Groups;
  static constexpr int kLanes = Threads / Groups;
  static constexpr int kChunks = Vector / 4;
  static constexpr int kVector = Vector;
  static constexpr int kCluster = Cluster;
  static constexpr int kPerThread = Accumulators / (kLanes * kChunks);
  static_assert(kPerThread * kLanes * kChunks == Accumulators, "accumulators are dealt out evenly");

  /// This thread's place among those of its row.
  static __device__ __forceinline__ int thread() { return static_cast<int>(threadIdx.x) % Threads; }
  static __device__ __forceinline__ int group() { return thread() / kLanes; }
  static __device__ __forceinline__ int lane() { return thread() % kLanes; }
  /// This group's number among those of all blocks of the cluster: neighbours are in different
  /// blocks, so that joins far first stay within a block until only blocks are left.
  static __device__ __forceinline__ int group_of_cluster() {
    return group() * Cluster + cluster_rank();
  }

  /// The first chunk of this thread's vector number `tile` within a part.
  static __device__ __forceinline__ int chunk(int tile) {
    return (tile * kLanes + lane()) * kChunks;
  }
};

/// One reduction of a row by the threads of `Shape`, Parts parts to each group. Every thread of the
/// block takes part in every call.
template <class State, class Shape, int Parts>
struct RowReduction {
  State accumulators[Shape::kPerThread][Shape::kChunks];
  State parts[Parts];

  __device__ __forceinline__ RowReduction() { clear(); }
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < Shape::kPerThread; ++i)
#pragma unroll
      for (int j = 0; j < Shape::kChunks; ++j) accumulators[i][j] = State::identity();
  }

  /// Element `k` of this thread's vector number `tile`.
  template <class T>
  __device__ __forceinline__ void add(int tile, int k, T element, long long index) {
    accumulators[tile % Shape::kPerThread][k / 4].add(element, index);
  }

  /// All of part number `part` of this group has been added.
  __device__ __forceinline__ void finish_part(int part, Exchange& exchange) {
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
    parts[part] = mine[0];
    clear();
  }

  /// The whole row; every thread of it gets the result.
  __device__ __forceinline__ State finish(Exchange& exchange) {
    join_far_first(parts);
    if constexpr (Shape::kGroups == 1) return parts[0];
    State* shared = exchange.next<State>();
    const int row = static_cast<int>(threadIdx.x) / Shape::kThreads;
    if (Shape::lane() == 0) shared[row * Shape::kGroups + Shape::group()] = parts[0];
    block_barrier();
    State groups[Shape::kGroups];
#pragma unroll
    for (int i = 0; i < Shape::kGroups; ++i) groups[i] = shared[row * Shape::kGroups + i];
    join_far_first(groups);
    return groups[0];
  }

  /// The whole row, which the blocks of a cluster share; every thread of them gets the result. Each
  /// block leaves its own in `cluster` of all others. Two halves in turn there too: whoever writes
  /// to a half has met all others since they read it.
  __device__ __forceinline__ State finish(Exchange& exchange, Exchange& cluster) {
    static_assert(Shape::kThreads >= Shape::kCluster, "a thread hands over to each block");
    const State own = finish(exchange);
    State* shared = cluster.next<State>();
    if (Shape::thread() < Shape::kCluster)
      *cluster_map(shared + cluster_rank(), Shape::thread()) = own;
    cluster_arrive();
    cluster_wait();
    State blocks[Shape::kCluster];
#pragma unroll
    for (int i = 0; i < Shape::kCluster; ++i) blocks[i] = shared[i];
    join_far_first(blocks);
    return blocks[0];
  }

 private:
  /// Each warp gets the join over the warps of its group, lane by lane.
  __device__ __forceinline__ void across_warps(State (&mine)[Shape::kChunks], Exchange& exchange) {
    constexpr int kWarps = Shape::kLanes / 32;
    State* shared = exchange.next<State>();
    State* own = shared + static_cast<int>(threadIdx.x) * Shape::kChunks;
#pragma unroll
    for (int j = 0; j < Shape::kChunks; ++j) own[j] = mine[j];
    block_barrier();
    const int first = static_cast<int>(threadIdx.x) / Shape::kLanes * Shape::kLanes +
                      static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int j = 0; j < Shape::kChunks; ++j) {
      State warps[kWarps > 0 ? kWarps : 1];
#pragma unroll
      for (int i = 0; i < kWarps; ++i) warps[i] = shared[(first + i * 32) * Shape::kChunks + j];
      join_far_first(warps);
      mine[j] = warps[0];
    }
  }
};

/// How the rows of a column block are dealt out: `Columns` threads side by side, each with a vector
/// of `Vector` columns, and Lanes × Groups of them along the reduced axis.
template <int Columns, int Lanes, int Groups, int Accumulators, int Vector>
struct ColumnShape {
  static constexpr int kColumns = Columns;
  static constexpr int kLanes = Lanes;
  static constexpr int kGroups = Groups;
  static constexpr int kVector = Vector;
  static constexpr int kPerThread = Accumulators / Lanes;
  static_assert(kPerThread * Lanes == Accumulators, "accumulators are dealt out evenly");
  /// Places of a group and column in the exchange.
  static constexpr int kSlots = Lanes > 1 ? Lanes / 2 : 1;

  static __device__ __forceinline__ int column() { return static_cast<int>(threadIdx.x) % Columns; }
  static __device__ __forceinline__ int along() { return static_cast<int>(threadIdx.x) / Columns; }
  static __device__ __forceinline__ int group() { return along() / Lanes; }
  static __device__ __forceinline__ int lane() { return along() % Lanes; }
  /// This thread's chunk number `tile` within a part.
  static __device__ __forceinline__ int chunk(int tile) { return tile * Lanes + lane(); }
};

/// 0 … Count - 1 (a power of two) in the order in which a tree that joins far ones first takes them
/// in one after the other: with their bits reversed.
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

/// The number of levels of a tree of `Count` leaves.
template <int Count>
struct TreeLevels {
  static constexpr int kNumber = 1 + TreeLevels<Count / 2>::kNumber;
};
template <>
struct TreeLevels<1> {
  static constexpr int kNumber = 0;
};

/// Joins `Count` states far first as they come, in the order of far_first, and holds no more than
/// one for each level of the tree.
template <class State, int Count>
struct FarFirst {
  static constexpr int kLevels = TreeLevels<Count>::kNumber;
  State waiting[kLevels > 0 ? kLevels : 1];

  // Nothing reads these. But a register that may be read before it is written is alive all the way
  // back to where it was written last: in a horizontally fused kernel, through all other sections.
  __device__ __forceinline__ FarFirst() {
#pragma unroll
    for (int level = 0; level < kLevels; ++level) waiting[level] = State::identity();
  }

  /// The subtree that `state`, the one with this number, is the last one of: in the end, the tree.
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

/// A reduction along the rows of `Shape::kVector` neighbouring columns per thread. A thread goes
/// through its accumulators one after the other, each with all of its chunks.
template <class State, class Shape, int Parts>
struct ColumnReduction {
  State current[Shape::kVector];
  FarFirst<State, Shape::kPerThread> accumulators[Shape::kVector];
  FarFirst<State, Parts> parts[Shape::kVector];

  __device__ __forceinline__ ColumnReduction() { clear(); }
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int j = 0; j < Shape::kVector; ++j) current[j] = State::identity();
  }

  /// Column `k` of this thread's vector.
  template <class T>
  __device__ __forceinline__ void add(int k, T element, long long index) {
    current[k].add(element, index);
  }

  /// All chunks of an accumulator have been added.
  __device__ __forceinline__ void finish_accumulator(int number) {
#pragma unroll
    for (int j = 0; j < Shape::kVector; ++j) {
      const State joined = accumulators[j].take(number, current[j]);
      current[j] = number == Shape::kPerThread - 1 ? joined : State::identity();
    }
  }

  /// All of part number `number` of this group has been added.
  __device__ __forceinline__ void finish_part(int number, Exchange& exchange) {
    if constexpr (Shape::kLanes > 1) join_lanes_of_part(exchange);
#pragma unroll
    for (int j = 0; j < Shape::kVector; ++j) {
      const State joined = parts[j].take(number, current[j]);
      current[j] = number == Parts - 1 ? joined : State::identity();
    }
  }

  /// The columns of the vector; every thread along the reduced axis gets the result.
  __device__ __forceinline__ void finish(State (&result)[Shape::kVector], Exchange& exchange) {
#pragma unroll
    for (int j = 0; j < Shape::kVector; ++j) result[j] = current[j];
    if constexpr (Shape::kGroups > 1) {
      State* shared = exchange.next<State>();
#pragma unroll
      for (int j = 0; j < Shape::kVector; ++j)
        if (Shape::lane() == 0) *place(shared, Shape::group(), j) = result[j];
      block_barrier();
#pragma unroll
      for (int j = 0; j < Shape::kVector; ++j) {
        State groups[Shape::kGroups];
#pragma unroll
        for (int i = 0; i < Shape::kGroups; ++i) groups[i] = *place(shared, i, j);
        join_far_first(groups);
        result[j] = groups[0];
      }
    }
  }

 private:
  /// Joins what the lanes of a group have far first; every lane gets the result. The far half of
  /// those that are left hands over what it has. Each writes where it alone has read before, and
  /// the first ones where nobody has, so that there is one barrier for each half.
  __device__ __forceinline__ void join_lanes_of_part(Exchange& exchange) {
    State* shared = exchange.next<State>();
    const int lane = Shape::lane();
    const int first = Shape::group() * Shape::kSlots;
#pragma unroll 1
    for (int half = Shape::kLanes / 2; half > 0; half /= 2) {
      if (lane >= half && lane < 2 * half)
#pragma unroll
        for (int j = 0; j < Shape::kVector; ++j)
          *place(shared, first + lane % Shape::kSlots, j) = current[j];
      block_barrier();
      if (lane < half)
#pragma unroll
        for (int j = 0; j < Shape::kVector; ++j)
          current[j] =
              State::join(current[j], *place(shared, first + (lane + half) % Shape::kSlots, j));
    }
    if (lane == 0)
#pragma unroll
      for (int j = 0; j < Shape::kVector; ++j) *place(shared, first, j) = current[j];
    block_barrier();
#pragma unroll
    for (int j = 0; j < Shape::kVector; ++j) current[j] = *place(shared, first, j);
  }

  static __device__ __forceinline__ State* place(State* shared, int along, int k) {
    return shared + (along * Shape::kVector + k) * Shape::kColumns + Shape::column();
  }
};

/// The parts of one row, left in `workspace` by as many blocks, joined far first by one block of
/// Threads threads; every thread gets the result.
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
  if (thread < parts) shared[thread] = mine[0];
  block_barrier();
#pragma unroll 1
  for (int half = (parts < Threads ? parts : Threads) / 2; half > 0; half /= 2) {
    if (thread < half) shared[thread] = State::join(shared[thread], shared[thread + half]);
    block_barrier();
  }
  return shared[0];
}
