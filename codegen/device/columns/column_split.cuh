// Columns that several blocks share. Blocks store their column states in the workspace, and the
// last block combines them far first.
#pragma once

/// The index of the state of column `k` of this thread among the states of one column tile.
template <class Shape>
__device__ __forceinline__ int place_in_tile(int split, int k) {
  return (split * Shape::kVector + k) * Shape::kColumns + Shape::column();
}

/// Stores the states of this block's columns. The first thread of a column must have its state.
template <class Shape, class State>
__device__ __forceinline__ void store_split(State* tile, int split,
                                            const State (&states)[Shape::kVector]) {
  if (Shape::along() != 0) return;
#pragma unroll
  for (int k = 0; k < Shape::kVector; ++k)
    store_workspace(tile, place_in_tile<Shape>(split, k), states[k]);
}

/// Combines the `Splits` states of each column of this block. Every thread of a column gets the
/// result if kToAll, else only the first one.
template <int Splits, bool kToAll, class Shape, class State>
__device__ __forceinline__ void join_splits(const State* tile, State (&states)[Shape::kVector],
                                            Exchange& exchange) {
  constexpr int kPlaces = Shape::kSlots * Shape::kGroups;
  constexpr int kJoining = Splits < kPlaces ? Splits : kPlaces;
  constexpr int kOwn = Splits / kJoining;
  State* shared = exchange.next<State>();
  const auto place = [&](int along, int k) { return shared + place_in_exchange<Shape>(along, k); };
  if (Shape::along() < kJoining) {
    FarFirst<State, kOwn> own[Shape::kVector];
#pragma unroll 4
    for (int i = 0; i < kOwn; ++i) {
      const int split = far_first<kOwn>(i) * kJoining + Shape::along();
#pragma unroll
      for (int k = 0; k < Shape::kVector; ++k)
        states[k] = own[k].take(i, load_workspace(tile, place_in_tile<Shape>(split, k)));
    }
    if constexpr (kJoining > 1 || kToAll)
#pragma unroll
      for (int k = 0; k < Shape::kVector; ++k) store_shared(place(Shape::along(), k), states[k]);
  }
#pragma unroll 1
  for (int half = kJoining / 2; half > 0; half /= 2) {
    block_barrier();
    if (Shape::along() < half)
#pragma unroll
      for (int k = 0; k < Shape::kVector; ++k) {
        states[k] = State::join(states[k], load_shared(place(Shape::along() + half, k)));
        if (half > 1 || kToAll) store_shared(place(Shape::along(), k), states[k]);
      }
  }
  if constexpr (kToAll) {
    block_barrier();
#pragma unroll
    for (int k = 0; k < Shape::kVector; ++k) states[k] = load_shared(place(0, k));
  }
}
