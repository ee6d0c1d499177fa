// matrix_mean_0 | matrix_mean_1: m_sum is needed at other rows than the one being computed

// sinter kernel matrix_mean_0 · row_reduce · threads 128, vector 4, 32 per row, 4 rows per block
//   sum_1 = sum x {axes = [1], keep = false} : f32[1024]
// reproduce: sinter dump matrix_mean.sinter --stage source --kernel matrix_mean_0
extern "C" __global__ void __launch_bounds__(128)
matrix_mean_0(const float* __restrict__ x_in,
              float* __restrict__ sum_1_out) {
  using Shape = RowShape<32, 1, 256, 4>;
  Exchange exchange = {shared_memory(), 0, 0};
  const int row = static_cast<int>(blockIdx.x) * 4 + static_cast<int>(threadIdx.x) / Shape::kThreads;
  RowReduction<Sum<float>, Shape, 1> sum_1_tree;
#pragma unroll
  for (int tile = 0; tile < 8; ++tile) {
    const int column = 4 * Shape::chunk(tile);
    const Vector<float, 4> x = load<4>(x_in, row * 1024 + column);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      sum_1_tree.add(tile, k, x[k], 0);
    }
  }
  sum_1_tree.finish_part(0, exchange);
  const float sum_1 = sum_1_tree.finish(exchange).result();
  if (Shape::thread() == 0) {
    store(sum_1_out, row, sum_1);
  }
}
// grid 256, shared 0, reads 4194304, writes 4096

// sinter kernel matrix_mean_1 · row_reduce · threads 32, vector 4, 32 per row, 1 rows per block
//   m_sum = sum sum_1 {axes = [0], keep = false} : f32[]
//   m = mul m_sum, 9.536743e-07 : f32[]
// reproduce: sinter dump matrix_mean.sinter --stage source --kernel matrix_mean_1
extern "C" __global__ void __launch_bounds__(32)
matrix_mean_1(const float* __restrict__ sum_1_in,
              float* __restrict__ m_out) {
  using Shape = RowShape<32, 1, 256, 4>;
  Exchange exchange = {shared_memory(), 0, 0};
  RowReduction<Sum<float>, Shape, 1> m_sum_tree;
#pragma unroll
  for (int tile = 0; tile < 8; ++tile) {
    const int column = 4 * Shape::chunk(tile);
    const Vector<float, 4> sum_1 = load<4>(sum_1_in, column);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      m_sum_tree.add(tile, k, sum_1[k], 0);
    }
  }
  m_sum_tree.finish_part(0, exchange);
  const float m_sum = m_sum_tree.finish(exchange).result();
  const float m = m_sum * 9.536743e-07f;
  if (Shape::thread() == 0) {
    store(m_out, 0, m);
  }
}
// grid 1, shared 0, reads 4096, writes 4
