// guard: rows * 4096 at most 2146435072
// guard: rows in [16384, 32767]

// sinter kernel rms_norm_backward_0 · row_column_reduce · threads 128, vector 8, 128 per row, 1 rows per block, clusters of 8 blocks that combine columns, 1024 splits, resident, 3 blocks per SM
//   h = cast x {to = f32} : f32[rows, 4096]
//   gf = cast g {to = f32} : f32[rows, 4096]
//   w = cast weight {to = f32} : f32[4096]
//   sq = mul h, h : f32[rows, 4096]
//   gw = mul gf, w : f32[rows, 4096]
//   ms_sum = sum sq {axes = [1], keep = true} : f32[rows, 1]
//   ms = mul ms_sum, 0.00024414062 : f32[rows, 1]
//   eps = add ms, 1e-06 : f32[rows, 1]
//   r = rsqrt eps : f32[rows, 1]
//   n = mul h, r : f32[rows, 4096]
//   p = mul gw, n : f32[rows, 4096]
//   m_sum = sum p {axes = [1], keep = true} : f32[rows, 1]
//   m = mul m_sum, 0.00024414062 : f32[rows, 1]
//   t = mul n, m : f32[rows, 4096]
//   u = sub gw, t : f32[rows, 4096]
//   v = mul u, r : f32[rows, 4096]
//   dx = cast v {to = bf16} : bf16[rows, 4096]
//   q = mul gf, n : f32[rows, 4096]
//   dw = sum q {axes = [0], keep = false} : f32[4096]
//   dweight = cast dw {to = bf16} : bf16[4096]
// reads rows * 16384 + 2105344 bytes, writes rows * 8192 + 2236416
// reproduce: sinter dump FILE --stage source --arch sm_90 --size rows=N --kernel rms_norm_backward_0
extern "C" __global__ void __launch_bounds__(128, 3)
rms_norm_backward_0(const bf16* __restrict__ x_in,
                    const bf16* __restrict__ g_in,
                    const bf16* __restrict__ weight_in,
                    bf16* __restrict__ dx_out,
                    bf16* __restrict__ dweight_out,
                    const int rows,
                    unsigned* __restrict__ tickets,
                    unsigned char* __restrict__ workspace) {
  wait_for_prior_launches();
  using Shape = RowShape<128, 1, 512, 8>;
  Exchange exchange = {shared_memory(), 1024, 0};
  const int team = static_cast<int>(blockIdx.x) / 8;
  const int split = team + 128 * cluster_rank();
  const int group = team % 8;
  const int row_chunks = ((((rows + 3) / 4) + 3) / 4);
  ColumnStates<Sum<float>, 32, 1, 128> dw_tree(shared_memory() + 2048);
  Vector<bf16, 8> weight[4];
#pragma unroll
  for (int tile = 0; tile < 4; ++tile) {
    const int column = 4 * Shape::chunk(tile);
    weight[tile] = load<8>(weight_in, column);
  }
  const int first_chunk = split % 4 * row_chunks;
#pragma unroll 1
  for (int turn = 0; turn < 2; ++turn) {
    const int accumulator = split / 4 + 256 * reversed<1>(turn);
#pragma unroll 1
    for (int chunk = accumulator; chunk < row_chunks; chunk += 512) {
      const int first_row = 4 * (first_chunk + chunk);
#pragma unroll 1
      for (int next = 0; next < 4; next += 1) {
        const int row = first_row + next;
        if (row < rows) {
          Vector<bf16, 8> g[4];
          Vector<bf16, 8> x[4];
#pragma unroll
          for (int tile = 0; tile < 4; ++tile) {
            const int column = 4 * Shape::chunk(tile);
            g[tile] = load<8>(g_in, row * 4096 + column);
            x[tile] = load<8>(x_in, row * 4096 + column);
          }
          RowReduction<Sum<float>, Shape, 1> ms_sum_tree;
#pragma unroll
          for (int tile = 0; tile < 4; ++tile) {
            const int column = 4 * Shape::chunk(tile);
#pragma unroll
            for (int k = 0; k < 8; ++k) {
              const float h = to_float(x[tile][k]);
              const float sq = h * h;
              ms_sum_tree.add(tile, k, sq, 0);
            }
          }
          ms_sum_tree.finish_part(0, exchange);
          const float ms_sum = ms_sum_tree.finish(exchange).result();
          const float ms = ms_sum * 0.00024414062f;
          const float eps = ms + 1.e-06f;
          const float r = rsqrtf(eps);
          RowReduction<Sum<float>, Shape, 1> m_sum_tree;
#pragma unroll
          for (int tile = 0; tile < 4; ++tile) {
            const int column = 4 * Shape::chunk(tile);
            convert_again(x[tile]);
#pragma unroll
            for (int k = 0; k < 8; ++k) {
              const float gf = to_float(g[tile][k]);
              const float w = to_float(weight[tile][k]);
              const float gw = gf * w;
              const float h = to_float(x[tile][k]);
              const float n = h * r;
              const float p = gw * n;
              const float q = gf * n;
              m_sum_tree.add(tile, k, p, 0);
              dw_tree.add(8 * tile + k, q, 0);
            }
          }
          m_sum_tree.finish_part(0, exchange);
          const float m_sum = m_sum_tree.finish(exchange).result();
          const float m = m_sum * 0.00024414062f;
#pragma unroll
          for (int tile = 0; tile < 4; ++tile) {
            const int column = 4 * Shape::chunk(tile);
            convert_again(g[tile]);
            convert_again(weight[tile]);
            convert_again(x[tile]);
            Vector<bf16, 8> dx;
#pragma unroll
            for (int k = 0; k < 8; ++k) {
              const float gf = to_float(g[tile][k]);
              const float w = to_float(weight[tile][k]);
              const float gw = gf * w;
              const float h = to_float(x[tile][k]);
              const float n = h * r;
              const float t = n * m;
              const float u_ = gw - t;
              const float v = u_ * r;
              dx[k] = to_memory<bf16>(v);
            }
            store<8>(dx_out, row * 4096 + column, dx);
          }
        }
      }
    }
    dw_tree.finish(turn);
  }
  auto* dw_tree_splits = reinterpret_cast<Neighbours<Sum<float>, 4>*>(workspace);
  auto* dw_tree_block = reinterpret_cast<Neighbours<Sum<float>, 4>*>(shared_memory() + 2048);
  block_barrier();  // waiting states used the same memory
#pragma unroll
  for (int tile = 0; tile < 4; ++tile) {
    const int column = 4 * Shape::chunk(tile);
#pragma unroll
    for (int k = 0; k < 8; k += 4) {
      dw_tree_block[(column + k) / 4] = dw_tree.neighbours<4>(8 * tile + k);
    }
  }
  cluster_arrive();
  cluster_wait();
#pragma unroll 1
  for (int own = static_cast<int>(threadIdx.x); own < 128; own += 128) {
    const int at = cluster_rank() * 128 + own;
    store_workspace(dw_tree_splits, team * 1024 + at, join_ranks<8>(dw_tree_block + at));
  }
  cluster_arrive();
  cluster_wait();  // no block reads the states of this block any more
  if (!last_block<true>(tickets + 9 * cluster_rank() + group, 16)) return;
#pragma unroll 1
  for (int own = static_cast<int>(threadIdx.x); own < 128; own += 128) {
    const int at = cluster_rank() * 128 + own;
    const int place = group * 1024 + at;
    store_workspace(dw_tree_splits, place, join_column<16>(dw_tree_splits + place, 8192));
  }
  if (!last_block(tickets + 9 * cluster_rank() + 8, 8)) return;
#pragma unroll 1
  for (int own = static_cast<int>(threadIdx.x); own < 128; own += 128) {
    const int at = cluster_rank() * 128 + own;
    const auto dw_tree_joined = join_column<8>(dw_tree_splits + at, 1024);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int column = at * 4 + k;
      const float dw = dw_tree_joined.states[k].result();
      const float dweight = rounded_cast<bf16>(dw);
      store(dweight_out, column, to_memory<bf16>(dweight));
    }
  }
}
// grid 1024, shared 18432, reads rows * 16384 + 2105344, writes rows * 8192 + 2236416
