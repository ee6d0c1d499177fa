
// sinter kernel few_columns_0 · column_reduce · threads 512, vector 4, unroll 2, 64 per row, 8 rows per block, 128 splits, 1 block per SM
//   s = sum x {axes = [0], keep = false} : f32[64]
//   m = max x {axes = [0], keep = false} : f32[64]
// reads 16842752 bytes, writes 66048
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel few_columns_0
extern "C" __global__ void __launch_bounds__(512, 1)
few_columns_0(const float* __restrict__ x_in,
              float* __restrict__ s_out,
              float* __restrict__ m_out,
              unsigned* __restrict__ tickets,
              unsigned char* __restrict__ workspace) {
  wait_for_prior_launches();
  using Shape = ColumnShape<8, 64, 1, 64, 4>;
  Exchange exchange = {shared_memory(), 4096, 0};
  const int column_tile = static_cast<int>(blockIdx.x) % 2;
  const int split = static_cast<int>(blockIdx.x) / 2;
  const int residue = split / 16;
  const int first_chunk = split % 16 * 1024;
  const int column = column_tile * 32 + Shape::column() * 4;
  ColumnReduction<Sum<float>, Shape, 1> s_tree;
  ColumnReduction<Max<float>, Shape, 1> m_tree;
#pragma unroll 2
  for (int tile = 0; tile < 2; tile += 1) {
#pragma unroll
    for (int within = 0; within < 4; ++within) {
      const int along = 4 * (first_chunk + (residue + 8 * Shape::chunk(tile))) + within;
      const Vector<float, 4> x = load<4>(x_in, column + along * 64);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        s_tree.add(k, x[k], 0);
        m_tree.add(k, x[k], 0);
      }
    }
  }
  s_tree.finish_accumulator(0);
  m_tree.finish_accumulator(0);
  s_tree.finish_part(0, exchange);
  m_tree.finish_part(0, exchange);
  Sum<float> s_tree_states[4];
  s_tree.finish<false>(s_tree_states, exchange);
  Max<float> m_tree_states[4];
  m_tree.finish<false>(m_tree_states, exchange);
  Sum<float>* s_splits = reinterpret_cast<Sum<float>*>(workspace) + column_tile * 4096;
  store_split<Shape>(s_splits, split, s_tree_states);
  Max<float>* m_splits = reinterpret_cast<Max<float>*>(workspace + 32768) + column_tile * 4096;
  store_split<Shape>(m_splits, split, m_tree_states);
  if (!last_block(tickets + column_tile, 128)) return;
  join_splits<128, false, Shape>(s_splits, s_tree_states, exchange);
  join_splits<128, false, Shape>(m_splits, m_tree_states, exchange);
  Vector<float, 4> s;
#pragma unroll
  for (int k = 0; k < 4; ++k) s[k] = s_tree_states[k].result();
  Vector<float, 4> m;
#pragma unroll
  for (int k = 0; k < 4; ++k) m[k] = m_tree_states[k].result();
  if (Shape::along() == 0) {
    Vector<float, 4> s_2;
#pragma unroll
    for (int k = 0; k < 4; ++k) s_2[k] = s[k];
    store<4>(s_out, column, s_2);
    Vector<float, 4> m_2;
#pragma unroll
    for (int k = 0; k < 4; ++k) m_2[k] = m[k];
    store<4>(m_out, column, m_2);
  }
}
// grid 256, shared 8192, reads 16842752, writes 66048
