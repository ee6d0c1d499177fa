
// sinter kernel column_sum_0 · column_reduce · threads 1024, vector 4, 256 per row, 4 rows per block
//   h = cast g {to = f32} : f32[2048, 3072]
//   s = sum h {axes = [0], keep = false} : f32[3072]
// reads 12582912 bytes, writes 12288
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel column_sum_0
extern "C" __global__ void __launch_bounds__(1024)
column_sum_0(const bf16* __restrict__ g_in,
             float* __restrict__ s_out) {
  wait_for_prior_launches();
  using Shape = ColumnShape<4, 256, 1, 512, 4>;
  Exchange exchange = {shared_memory(), 8192, 0};
  const int column = static_cast<int>(blockIdx.x) * 16 + Shape::column() * 4;
  ColumnReduction<Sum<float>, Shape, 1> s_tree;
#pragma unroll 1
  for (int i = 0; i < 2; ++i) {
    const int tile = far_first<2>(i);
#pragma unroll
    for (int within = 0; within < 4; ++within) {
      const int along = 4 * Shape::chunk(tile) + within;
      const Vector<bf16, 4> g = load<4>(g_in, column + along * 3072);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float h = to_float(g[k]);
        s_tree.add(k, h, 0);
      }
    }
    s_tree.finish_accumulator(i);
  }
  s_tree.finish_part(0, exchange);
  Sum<float> s_tree_states[4];
  s_tree.finish<false>(s_tree_states, exchange);
  Vector<float, 4> s;
#pragma unroll
  for (int k = 0; k < 4; ++k) s[k] = s_tree_states[k].result();
  if (Shape::along() == 0) {
    Vector<float, 4> s_2;
#pragma unroll
    for (int k = 0; k < 4; ++k) s_2[k] = s[k];
    store<4>(s_out, column, s_2);
  }
}
// grid 192, shared 16384, reads 12582912, writes 12288
