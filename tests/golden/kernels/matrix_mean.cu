
// sinter kernel matrix_mean_0 · row_reduce · threads 128, vector 4, 32 per row, 4 rows per block
//   sum_1 = sum x {axes = [1], keep = false} : f32[1024]
//   m_sum = sum sum_1 {axes = [0], keep = false} : f32[]
//   m = mul m_sum, 9.536743e-07 : f32[]
// reads 4198400 bytes, writes 4100
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel matrix_mean_0
extern "C" __global__ void __launch_bounds__(128)
matrix_mean_0(const float* __restrict__ x_in,
              float* __restrict__ m_out,
              unsigned* __restrict__ tickets,
              unsigned char* __restrict__ workspace) {
  wait_for_prior_launches();
  using Shape = RowShape<32, 1, 256, 4>;
  Exchange exchange = {shared_memory(), 512, 0};
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
  float* m_sum_of_rows = reinterpret_cast<float*>(workspace);
  if (Shape::thread() == 0) {
    store_workspace(m_sum_of_rows, row, sum_1);
  }
  if (!last_block(tickets, gridDim.x)) return;
  using Rows = RowShape<128, 1, 256, 4>;
  RowReduction<Sum<float>, Rows, 1> m_sum_tree;
#pragma unroll 1
  for (int part = 0; part < 1; ++part) {
#pragma unroll 1
    for (int step = 0; step * 128 < 256; step += 2) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int chunk = Rows::chunk(step + i);
        const int at = 4 * ((part * 1 + Rows::group()) * (256) + chunk);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          if (chunk < 256 && at + k < 1024) m_sum_tree.add(i, k, load_workspace(m_sum_of_rows, at + k), at + k);
        }
      }
    }
    m_sum_tree.finish_part(part, exchange);
  }
  const float m_sum = m_sum_tree.finish(exchange).result();
  const float m = m_sum * 9.536743e-07f;
  if (threadIdx.x == 0) {
    store(m_out, 0, m);
  }
}
// grid 256, shared 1024, reads 4198400, writes 4100
