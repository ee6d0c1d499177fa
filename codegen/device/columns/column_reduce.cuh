// Reductions of columns by the threads of a block, in the order of the reduction tree (reduce.cuh).
#pragma once

/// The distribution of the columns of a block over threads: `Columns` adjacent threads, each with a
/// vector of `Vector` columns, times Lanes × Groups threads along the reduced axis.
template <int Columns, int Lanes, int Groups, int Accumulators, int Vector>
struct ColumnShape {
  static constexpr int kColumns = Columns;
  static constexpr int kLanes = Lanes;
  static constexpr int kGroups = Groups;
  static constexpr int kVector = Vector;
  static constexpr int kPerThread = Accumulators / Lanes;
  static_assert(kPerThread * Lanes == Accumulators, "threads have equally many accumulators");
  /// Slots per group and column in the exchange.
  static constexpr int kSlots = Lanes > 1 ? Lanes / 2 : 1;

  static __device__ __forceinline__ int column() { return static_cast<int>(threadIdx.x) % Columns; }
  static __device__ __forceinline__ int along() { return static_cast<int>(threadIdx.x) / Columns; }
  static __device__ __forceinline__ int group() { return along() / Lanes; }
  static __device__ __forceinline__ int lane() { return along() % Lanes; }
  /// The chunk, within a part, with the index `tile` among this thread's chunks.
  static __device__ __forceinline__ int chunk(int tile) { return tile * Lanes + lane(); }
};

/// The index in the exchange of the state of this thread's column `k` and of slot `along` of
/// kSlots * kGroups. The threads of a warp use adjacent states for each k, so that they are in
/// different banks.
template <class Shape>
__device__ __forceinline__ int place_in_exchange(int along, int k) {
  return (k * Shape::kSlots * Shape::kGroups + along) * Shape::kColumns + Shape::column();
}

/// A reduction of `Shape::kVector` adjacent columns per thread. A thread processes its accumulators
/// one after the other, each with all of its chunks.
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

  /// Adds an element to column `k` of this thread's vector.
  template <class T, class Index>
  __device__ __forceinline__ void add(int k, T element, Index index) {
    current[k].add(element, index);
  }

  /// Call after all chunks of an accumulator have been added.
  __device__ __forceinline__ void finish_accumulator(int number) {
#pragma unroll
    for (int j = 0; j < Shape::kVector; ++j) {
      const State joined = accumulators[j].take(number, current[j]);
      current[j] = number == Shape::kPerThread - 1 ? joined : State::identity();
    }
  }

  /// Call after all elements of the group's part with the index `number` have been added. From then
  /// on, only lane 0 has the state of the part.
  __device__ __forceinline__ void finish_part(int number, Exchange& exchange) {
    if constexpr (Shape::kLanes > 1) join_lanes_of_part(exchange);
#pragma unroll
    for (int j = 0; j < Shape::kVector; ++j) {
      const State joined = parts[j].take(number, current[j]);
      current[j] = number == Parts - 1 ? joined : State::identity();
    }
  }

  /// The states of the vector's columns. Every thread along the reduced axis gets them if kToAll,
  /// else only the first one.
  template <bool kToAll = true>
  __device__ __forceinline__ void finish(State (&result)[Shape::kVector], Exchange& exchange) {
#pragma unroll
    for (int j = 0; j < Shape::kVector; ++j) result[j] = current[j];
    if constexpr (Shape::kGroups > 1 || (kToAll && Shape::kLanes > 1)) {
      State* shared = exchange.next<State>();
#pragma unroll
      for (int j = 0; j < Shape::kVector; ++j)
        if (Shape::lane() == 0) store_shared(place(shared, Shape::group(), j), result[j]);
      block_barrier();
#pragma unroll
      for (int j = 0; j < Shape::kVector; ++j) {
        State groups[Shape::kGroups];
#pragma unroll
        for (int i = 0; i < Shape::kGroups; ++i) groups[i] = load_shared(place(shared, i, j));
        join_far_first(groups);
        result[j] = groups[0];
      }
    }
  }

 private:
  /// Combines the states of a group's lanes far first. Lane 0 gets the result. In each step,
  /// the far half of the remaining lanes passes its states to the near half. A lane writes to a
  /// slot that only it has read, or that no lane has used, so one barrier per step is enough.
  __device__ __forceinline__ void join_lanes_of_part(Exchange& exchange) {
    State* shared = exchange.next<State>();
    const int lane = Shape::lane();
    const int first = Shape::group() * Shape::kSlots;
#pragma unroll 1
    for (int half = Shape::kLanes / 2; half > 0; half /= 2) {
      if (lane >= half && lane < 2 * half)
#pragma unroll
        for (int j = 0; j < Shape::kVector; ++j)
          store_shared(place(shared, first + lane % Shape::kSlots, j), current[j]);
      block_barrier();
      if (lane < half)
#pragma unroll
        for (int j = 0; j < Shape::kVector; ++j)
          current[j] = State::join(
              current[j], load_shared(place(shared, first + (lane + half) % Shape::kSlots, j)));
    }
  }

  static __device__ __forceinline__ State* place(State* shared, int along, int k) {
    return shared + place_in_exchange<Shape>(along, k);
  }
};

/// For CPUs: the same for the one thread of a block, with a long vector of columns. The innermost
/// loops are along the columns, so that a compiler can vectorise them.
template <class State, class Shape, int Parts>
struct LongColumnReduction {
  static constexpr int kVector = Shape::kVector;
  static constexpr int kLevels = TreeLevels<Shape::kPerThread>::kNumber;
  static constexpr int kPartLevels = TreeLevels<Parts>::kNumber;
  static_assert(Shape::kLanes == 1 && Shape::kGroups == 1, "one thread has all accumulators");
  State memory[1 + kLevels + kPartLevels][kVector];
  // They exchange their memory instead of states.
  State* current = memory[0];
  State* accumulators[kLevels > 0 ? kLevels : 1];  // as in FarFirst
  State* parts[kPartLevels > 0 ? kPartLevels : 1];

  __device__ __forceinline__ LongColumnReduction() {
    for (int level = 0; level < kLevels; ++level) accumulators[level] = memory[1 + level];
    for (int level = 0; level < kPartLevels; ++level) parts[level] = memory[1 + kLevels + level];
    clear();
  }
  __device__ __forceinline__ void clear() {
    State* const states = current;  // a compiler would load the member again after each store
    for (int k = 0; k < kVector; ++k) states[k] = State::identity();
  }

  /// Adds a row. All its columns exist.
  template <class Elements>
  __device__ __forceinline__ void add_vector(const Elements& row, long long index, int) {
    State* const states = current;
    for (int k = 0; k < kVector; ++k) states[k].add(row[k], index);
  }
  __device__ __forceinline__ void finish_accumulator(int number) {
    take(accumulators, kLevels, number);
    if (number != Shape::kPerThread - 1) clear();
  }
  __device__ __forceinline__ void finish_part(int number, Exchange&) {
    take(parts, kPartLevels, number);
    if (number != Parts - 1) clear();
  }
  template <bool kToAll = true>
  __device__ __forceinline__ void finish(State (&result)[kVector], Exchange&) {
    for (int k = 0; k < kVector; ++k) result[k] = current[k];
  }

 private:
  /// FarFirst::take for all columns. The result is in `current`.
  __device__ __forceinline__ void take(State** waiting, int levels, int number) {
    for (int level = 0; level < levels; ++level) {
      State* const before = waiting[level];
      State* const states = current;
      if ((number >> level & 1) == 0) {
        waiting[level] = states;
        current = before;
        return;
      }
      for (int k = 0; k < kVector; ++k) states[k] = State::join(before[k], states[k]);
    }
  }
};
