// guard: rows * 4096 at most 2146435072

// sinter kernel softmax_0 · row_reduce · threads 128, vector 4, 64 per row, 2 rows per block, resident
//   m = max x {axes = [1], keep = true} : f32[rows, 1]
//   d = sub x, m : f32[rows, 4096]
//   e = exp d : f32[rows, 4096]
//   s = sum e {axes = [1], keep = true} : f32[rows, 1]
//   y = div e, s : f32[rows, 4096]
// reads rows * 16384 bytes, writes rows * 16384
// reproduce: sinter dump FILE --stage source --arch sm_90 --size rows=N --kernel softmax_0
extern "C" __global__ void __launch_bounds__(128)
softmax_0(const float* __restrict__ x_in,
          float* __restrict__ y_out,
          const int rows) {
  wait_for_prior_launches();
  using Shape = RowShape<64, 1, 512, 4>;
  Exchange exchange = {shared_memory(), 512, 0};
  const int first_column = 4 * Shape::chunk(0);
  const int wanted_row = static_cast<int>(blockIdx.x) * 2 + static_cast<int>(threadIdx.x) / Shape::kThreads;
  const bool live = wanted_row <= rows - 1;
  const int row = live ? wanted_row : rows - 1;
  Vector<float, 4> x[16];
  Vector<float, 4> e[16];
  RowReduction<Max<float>, Shape, 1> m_tree;
#pragma unroll
  for (int tile = 0; tile < 16; ++tile) {
    const int column = first_column + 256 * tile;
    x[tile] = load<4>(x_in, row * 4096 + column);
  }
#pragma unroll
  for (int tile = 0; tile < 16; ++tile) {
    const int column = first_column + 256 * tile;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      m_tree.add(tile, k, x[tile][k], 0);
    }
  }
  m_tree.finish_part(0, exchange);
  const float m = m_tree.finish(exchange).result();
  RowReduction<Sum<float>, Shape, 1> s_tree;
#pragma unroll
  for (int tile = 0; tile < 16; ++tile) {
    const int column = first_column + 256 * tile;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float d = x[tile][k] - m;
      e[tile][k] = expf(d);
      s_tree.add(tile, k, e[tile][k], 0);
    }
  }
  s_tree.finish_part(0, exchange);
  const float s = s_tree.finish(exchange).result();
#pragma unroll
  for (int tile = 0; tile < 16; ++tile) {
    const int column = first_column + 256 * tile;
    if (live) {
      const Vector<float, 4> y = quotients(e[tile], s);
      store<4>(y_out, row * 4096 + column, y);
    }
  }
}
// grid floor_div(rows + 1, 2), shared 1024, reads rows * 16384, writes rows * 16384
