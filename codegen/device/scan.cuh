// Handing totals on along the threads of a row.
#pragma once

/// What the threads before this one have, and what all of a row have.
template <class State>
struct Prefix {
  State before;
  State all;
};

/// Joins the states of `Lanes` neighbouring threads in order (Hillis and Steele, Data Parallel
/// Algorithms, 1986). `states` has one place per thread of the block.
template <int Lanes, class State>
__device__ __forceinline__ Prefix<State> scan_lanes(State own, State* states, int lane) {
  State* const row = states + (static_cast<int>(threadIdx.x) - lane);
  State joined = own;
#pragma unroll
  for (int apart = 1; apart < Lanes; apart *= 2) {
    row[lane] = joined;
    block_barrier();
    const State before = lane >= apart ? row[lane - apart] : State::identity();
    block_barrier();
    if (lane >= apart) joined = State::join(before, joined);
  }
  row[lane] = joined;
  block_barrier();
  const Prefix<State> result = {lane > 0 ? row[lane - 1] : State::identity(), row[Lanes - 1]};
  block_barrier();
  return result;
}
