// channel_stats_0_0 | channel_stats_0_1: m has 64 elements, the kernel has 2048 rows of 784
// channel_stats_0_1 | channel_stats_0_2: sum_7 reduces 784 elements and v_sum reduces 32
// channel_stats_0_2 | channel_stats_0_3: v has 64 elements, the kernel has 2048 rows of 784
// channel_stats_0_0 | channel_stats_0_2: both read x: merging them would create a cycle through a third kernel

// sinter kernel channel_stats_0 · 4 kernels in 4 phases · threads 128
// reads 6439168 bytes, writes 16896
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel channel_stats_0

// keeps 8 of 64 channels of x for all phases
static __device__ __noinline__ void
channel_stats_0_keep(const float* __restrict__ from_0,
                     unsigned char* resident_tile,
                     const int outer,
                     const int group) {
  ResidentTileCopy<float, 128, 4, 1, 6272> copy_0;
  copy_0.copy_rounds(from_0, outer * 50176 + group * 6272, 784, reinterpret_cast<float*>(resident_tile));
  copy_0.load_rest(from_0, outer * 50176 + group * 6272, 784);
  copy_0.keep_rest(reinterpret_cast<float*>(resident_tile));
}

// phase 0: row_reduce · threads 128, vector 4, 32 per row, 4 rows per block
//   sum_1 = sum x {axes = [2, 3], keep = false} : f32[32, 64]
// reads 0 bytes, writes 8192
static __device__ __noinline__ void
channel_stats_0_0(float* sum_1_out,
                  const float* x_kept,
                  const int tile_number,
                  const int block) {
  using Shape = RowShape<32, 1, 256, 4>;
  Exchange exchange = {shared_memory(), 0, 0};
  const int row = block * 4 + static_cast<int>(threadIdx.x) / Shape::kThreads;
  RowReduction<Sum<float>, Shape, 1> sum_1_tree;
#pragma unroll
  for (int tile = 0; tile < 7; ++tile) {
    const int column = 4 * Shape::chunk(tile);
    if (tile < 6 || Shape::chunk(tile) < 196) {
      const Vector<float, 4> x = load<4>(x_kept, row * 784 + column - tile_number * 6272);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        sum_1_tree.add(tile, k, x[k], 0);
      }
    }
  }
  sum_1_tree.finish_part(0, exchange);
  const float sum_1 = sum_1_tree.finish(exchange).result();
  if (Shape::thread() == 0) {
    store(sum_1_out, row, sum_1);
  }
}

// phase 1: column_reduce · threads 128, vector 1, 8 per row, 16 rows per block
//   v_sum = sum sum_1 {axes = [0], keep = false} : f32[64]
//   m = div v_sum, 25088.0 : f32[64]
// reads 8192 bytes, writes 256
static __device__ __noinline__ void
channel_stats_0_1(const float* sum_1_in,
                  float* m_out,
                  const int block) {
  using Shape = ColumnShape<16, 8, 1, 8, 1>;
  Exchange exchange = {shared_memory(), 256, 0};
  const int column = block * 16 + Shape::column() * 1;
  ColumnReduction<Sum<float>, Shape, 1> v_sum_tree;
#pragma unroll 1
  for (int tile = 0; tile < 1; tile += 1) {
#pragma unroll
    for (int within = 0; within < 4; ++within) {
      const int along = 4 * Shape::chunk(tile) + within;
#pragma unroll
      for (int k = 0; k < 1; ++k) {
        const float sum_1 = load(sum_1_in, column + along * 64);
        v_sum_tree.add(k, sum_1, 0);
      }
    }
  }
  v_sum_tree.finish_accumulator(0);
  v_sum_tree.finish_part(0, exchange);
  Sum<float> v_sum_tree_states[1];
  v_sum_tree.finish<false>(v_sum_tree_states, exchange);
  Vector<float, 1> v_sum;
#pragma unroll
  for (int k = 0; k < 1; ++k) v_sum[k] = v_sum_tree_states[k].result();
  const float m = v_sum[0] / 25088.0f;
  if (Shape::along() == 0) {
    store(m_out, column, m);
  }
}

// phase 2: row_reduce · threads 128, vector 4, 32 per row, 4 rows per block
//   v_deviation = sub x, reshape_4 : f32[32, 64, 28, 28]
//   mul_6 = mul v_deviation, v_deviation : f32[32, 64, 28, 28]
//   sum_7 = sum mul_6 {axes = [2, 3], keep = false} : f32[32, 64]
// reads 256 bytes, writes 8192
static __device__ __noinline__ void
channel_stats_0_2(const float* m_in,
                  float* sum_7_out,
                  const float* x_kept,
                  const int tile_number,
                  const int block) {
  using Shape = RowShape<32, 1, 256, 4>;
  Exchange exchange = {shared_memory(), 0, 0};
  const int row = block * 4 + static_cast<int>(threadIdx.x) / Shape::kThreads;
  const int row_1 = row % 64;
  const int row_0 = row / 64;
  const float m = load(m_in, row_1);
  RowReduction<Sum<float>, Shape, 1> sum_7_tree;
#pragma unroll
  for (int tile = 0; tile < 7; ++tile) {
    const int column = 4 * Shape::chunk(tile);
    if (tile < 6 || Shape::chunk(tile) < 196) {
      const Vector<float, 4> x = load<4>(x_kept, row_1 * 784 + column - tile_number * 6272);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float v_deviation = x[k] - m;
        const float mul_6 = v_deviation * v_deviation;
        sum_7_tree.add(tile, k, mul_6, 0);
      }
    }
  }
  sum_7_tree.finish_part(0, exchange);
  const float sum_7 = sum_7_tree.finish(exchange).result();
  if (Shape::thread() == 0) {
    store(sum_7_out, row_0 * 64 + row_1, sum_7);
  }
}

// phase 3: column_reduce · threads 128, vector 1, 8 per row, 16 rows per block
//   v_squares = sum sum_7 {axes = [0], keep = false} : f32[64]
//   v = div v_squares, 25088.0 : f32[64]
// reads 8192 bytes, writes 256
static __device__ __noinline__ void
channel_stats_0_3(const float* sum_7_in,
                  float* __restrict__ v_out,
                  const int block) {
  using Shape = ColumnShape<16, 8, 1, 8, 1>;
  Exchange exchange = {shared_memory(), 256, 0};
  const int column = block * 16 + Shape::column() * 1;
  ColumnReduction<Sum<float>, Shape, 1> v_squares_tree;
#pragma unroll 1
  for (int tile = 0; tile < 1; tile += 1) {
#pragma unroll
    for (int within = 0; within < 4; ++within) {
      const int along = 4 * Shape::chunk(tile) + within;
#pragma unroll
      for (int k = 0; k < 1; ++k) {
        const float sum_7 = load(sum_7_in, column + along * 64);
        v_squares_tree.add(k, sum_7, 0);
      }
    }
  }
  v_squares_tree.finish_accumulator(0);
  v_squares_tree.finish_part(0, exchange);
  Sum<float> v_squares_tree_states[1];
  v_squares_tree.finish<false>(v_squares_tree_states, exchange);
  Vector<float, 1> v_squares;
#pragma unroll
  for (int k = 0; k < 1; ++k) v_squares[k] = v_squares_tree_states[k].result();
  const float v = v_squares[0] / 25088.0f;
  if (Shape::along() == 0) {
    store(v_out, column, v);
  }
}

extern "C" __global__ void __launch_bounds__(128, 4)
channel_stats_0(unsigned* tickets,
                const float* __restrict__ x_in,
                float* sum_1_out,
                float* m_out,
                float* sum_7_out,
                float* __restrict__ v_out) {
  unsigned char* const resident_tiles = shared_memory() + 512;
  // Blocks that have more resident tiles than places fill the last place again in each phase.
  const bool has_place = static_cast<int>(blockIdx.x + gridDim.x * 1) >= 256;
  for (int item = static_cast<int>(blockIdx.x), place = 0; item < 256; item += static_cast<int>(gridDim.x), ++place) {
    const int outer = item / 8;
    const int group = item % 8;
    unsigned char* const resident_tile = resident_tiles;
    if (place > 0) block_barrier();  // the previous tile has the same place
    channel_stats_0_keep(x_in, resident_tile, outer, group);
    block_barrier();
    const int number = outer * 8 + group;
#pragma unroll 1
    for (int block = number * 2; block < number * 2 + 2; ++block) {
      channel_stats_0_0(sum_1_out, reinterpret_cast<const float*>(resident_tile), number, block);
    }
  }
  grid_barrier(tickets);
  for (int block = static_cast<int>(blockIdx.x); block < 4; block += static_cast<int>(gridDim.x)) {
    if (block >= static_cast<int>(gridDim.x)) block_barrier();
    channel_stats_0_1(sum_1_out, m_out, block);
  }
  grid_barrier(tickets);
  for (int item = static_cast<int>(blockIdx.x), place = 0; item < 256; item += static_cast<int>(gridDim.x), ++place) {
    const int outer = item / 8;
    const int group = item % 8;
    unsigned char* const resident_tile = resident_tiles;
    if (!has_place) {
      if (place > 0) block_barrier();  // the previous tile has the same place
      channel_stats_0_keep(x_in, resident_tile, outer, group);
      block_barrier();
    }
    const int number = outer * 8 + group;
#pragma unroll 1
    for (int block = number * 2; block < number * 2 + 2; ++block) {
      channel_stats_0_2(m_out, sum_7_out, reinterpret_cast<const float*>(resident_tile), group, block);
    }
  }
  grid_barrier(tickets);
  for (int block = static_cast<int>(blockIdx.x); block < 4; block += static_cast<int>(gridDim.x)) {
    if (block >= static_cast<int>(gridDim.x)) block_barrier();
    channel_stats_0_3(sum_7_out, v_out, block);
  }
  grid_depart(tickets);
}
// grid 256, shared 25600, reads 6439168, writes 16896
