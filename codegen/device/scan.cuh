// Scans of totals: over the threads of a row, and over tiles in different blocks.
#pragma once

/// Scans the states of the chunks of a tile in order (Hillis and Steele, Data Parallel Algorithms,
/// 1986). A thread has `Each` chunks with stride `Lanes`. Each of its states becomes the
/// combination of all chunks before it. Returns the combination of the whole tile. The tile uses
/// `row[chunk * Stride]` in shared memory, and a second half `half` states further on. A barrier
/// must precede the next use of this memory. A tile of one thread needs no barriers.
template <int Lanes, int Each, int Stride, class State>
__device__ __forceinline__ State scan_lanes(State (&own)[Each], State* row, int half, int lane) {
  constexpr int kChunks = Lanes * Each;
  State joined[Each];
#pragma unroll
  for (int i = 0; i < Each; ++i) joined[i] = own[i];
  State* now = row;
  State* next = row + half;
#pragma unroll
  for (int apart = 1; apart < kChunks; apart *= 2) {
#pragma unroll
    for (int i = 0; i < Each; ++i) now[(i * Lanes + lane) * Stride] = joined[i];
    // At multiples of `Lanes`, a thread reads only its own chunks. The first such step separates the
    // reads of the step before it from the next writes to that half.
    if (Lanes > 1 && (apart % Lanes != 0 || apart == Lanes)) block_barrier();
#pragma unroll
    for (int i = 0; i < Each; ++i) {
      const int from = i * Lanes + lane - apart;
      if (from >= 0) joined[i] = State::join(now[from * Stride], joined[i]);
    }
    // A thread that is ahead writes to the other half, which no thread reads any more.
    State* const read = now;
    now = next;
    next = read;
  }
#pragma unroll
  for (int i = 0; i < Each; ++i) now[(i * Lanes + lane) * Stride] = joined[i];
  if constexpr (Lanes > 1) block_barrier();
#pragma unroll
  for (int i = 0; i < Each; ++i) {
    const int from = i * Lanes + lane - 1;
    own[i] = from >= 0 ? now[from * Stride] : State::identity();
  }
  return now[(kChunks - 1) * Stride];
}

// ---- Tiles of one row in different blocks ----

// Blocks take numbers in the order in which they start. A block waits only for smaller numbers, and
// so only for running blocks. The tickets are the next number, the count of finished blocks, and
// one flag per tile.
constexpr unsigned kTileHasTotal = 1;
constexpr unsigned kTileHasPrefix = 2;  // the combination of all tiles up to and including it
__device__ __forceinline__ unsigned* tile_flags(unsigned* tickets) { return tickets + 2; }

/// The values that tiles publish for later tiles, with `Rows` states per tile.
template <class State>
struct TileStates {
  State* totals;
  State* prefixes;
  unsigned* flags;
};

/// Combines all tiles of the row before tile `tile` (decoupled look-back: Merrill and Garland,
/// 2016). Finds the nearest of the previous `Lanes` tiles with a known prefix, and adds the totals
/// after it one by one. The order is from first to last, independent of timing. `before` is the
/// number of tiles of other rows before this row.
template <int Lanes, int Rows, int Stride, class State>
__device__ __forceinline__ State look_back(const State& all, const TileStates<State>& tiles,
                                           long long tile, long long before, int row_of_block,
                                           State* row, int half, int lane) {
  const auto place = [&](long long at) { return (before + at) * Rows + row_of_block; };
  const auto publish_tile = [&](unsigned what) {
    if (threadIdx.x == 0) publish(tiles.flags + before + tile, what);
  };
  if (tile == 0) {
    if (lane == 0) store_workspace(tiles.prefixes, place(0), State::join(State::identity(), all));
    if constexpr (Rows > 1) block_barrier();  // else thread 0 has stored the only prefix
    publish_tile(kTileHasPrefix);
    return State::identity();
  }
  if (lane == 0) store_workspace(tiles.totals, place(tile), all);
  block_barrier();  // the scan has read `row`
  publish_tile(kTileHasTotal);
  // Each thread waits for one tile, thread 0 for the nearest. The farthest one needs a prefix.
  const auto known = [&](int i) -> unsigned& {
    return *reinterpret_cast<unsigned*>(row + half + i * Stride);
  };
  const long long at = tile - 1 - lane;
  if (at >= 0) {
    const unsigned what =
        await_flag(tiles.flags + before + at, lane == Lanes - 1 ? kTileHasPrefix : kTileHasTotal);
    row[lane * Stride] =
        load_workspace(what == kTileHasPrefix ? tiles.prefixes : tiles.totals, place(at));
    known(lane) = what;
  }
  block_barrier();
  if (lane == 0) {
    int nearest = 0;
    while (known(nearest) != kTileHasPrefix) ++nearest;
    State joined = row[nearest * Stride];
#pragma unroll 8
    for (int i = nearest - 1; i >= 0; --i) joined = State::join(joined, row[i * Stride]);
    store_workspace(tiles.prefixes, place(tile), State::join(joined, all));
    row[0] = joined;
  }
  block_barrier();
  publish_tile(kTileHasPrefix);
  return row[0];
}

/// Call last in every block, behind look_back. The last block resets the tickets to 0.
__device__ __forceinline__ void end_tiles(unsigned* tickets, unsigned blocks, int threads) {
  // A barrier of look_back separates the accesses of other threads to flags and states.
  if (!last_block<true>(tickets + 1, blocks)) return;
  for (unsigned i = threadIdx.x; i < blocks; i += threads) tile_flags(tickets)[i] = 0;
  if (threadIdx.x == 0) tickets[0] = 0;
}
