// Accesses to reduction states in shared memory, for CUDA. The host device has its own in
// host_primitives.h.
#pragma once

// A state of 8 or 16 bytes as one word. If its members were accessed one by one, adjacent threads
// would use only every second or fourth bank of shared memory.
template <class State>
union WholeState {
  typename Word<sizeof(State)>::Type word;
  State state;
  __device__ __forceinline__ WholeState() {}
};

// The compiler would leave out padding, and then split the word again.
__device__ __forceinline__ void keep_whole(uint2& word) { asm("" : "+r"(word.x), "+r"(word.y)); }
__device__ __forceinline__ void keep_whole(uint4& word) {
  asm("" : "+r"(word.x), "+r"(word.y), "+r"(word.z), "+r"(word.w));
}

/// `place` is in an array of states that is aligned to 16 bytes.
template <class State>
__device__ __forceinline__ State load_shared(const State* place) {
  if constexpr (sizeof(State) == 8 || sizeof(State) == 16) {
    WholeState<State> whole;
    whole.word = *reinterpret_cast<const typename Word<sizeof(State)>::Type*>(place);
    return whole.state;
  } else {
    return *place;
  }
}
template <class State>
__device__ __forceinline__ void store_shared(State* place, State state) {
  if constexpr (sizeof(State) == 8 || sizeof(State) == 16) {
    WholeState<State> whole;
    whole.state = state;
    keep_whole(whole.word);
    *reinterpret_cast<typename Word<sizeof(State)>::Type*>(place) = whole.word;
  } else {
    *place = state;
  }
}
