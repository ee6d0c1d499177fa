
// sinter kernel cluster_columns_0 · column_reduce · threads 512, vector 8, unroll 2, 256 per row, 2 rows per block, clusters of 4 blocks, resident in shared memory, 1 block per SM
//   h = cast x {to = f32} : f32[16384, 4096]
//   v_sum = sum h {axes = [0], keep = true} : f32[1, 4096]
//   m = mul v_sum, 6.1035156e-05 : f32[1, 4096]
//   c = sub h, m : f32[16384, 4096]
//   mul_5 = mul c, c : f32[16384, 4096]
//   v_squares = sum mul_5 {axes = [0], keep = true} : f32[1, 4096]
//   v = mul v_squares, 6.1035156e-05 : f32[1, 4096]
//   e = add v, 1e-05 : f32[1, 4096]
//   r = rsqrt e : f32[1, 4096]
//   n = mul c, r : f32[16384, 4096]
//   s = mul n, weight : f32[16384, 4096]
//   y = cast s {to = bf16} : bf16[16384, 4096]
// reads 134234112 bytes, writes 134234112
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel cluster_columns_0
extern "C" __global__ void __launch_bounds__(512, 1)
cluster_columns_0(const bf16* __restrict__ x_in,
                  const float* __restrict__ weight_in,
                  bf16* __restrict__ y_out,
                  float* __restrict__ m_out) {
  wait_for_prior_launches();
  using Shape = ColumnShape<2, 256, 1, 512, 8>;
  Exchange exchange = {shared_memory(), 8192, 0};
  Exchange cluster = {shared_memory() + 16384, 256, 0};
  cluster_arrive_relaxed();  // this block has started
  const int column_tile = static_cast<int>(blockIdx.x) / 4;
  const int split = cluster_rank();
  const int first_chunk = split * 1024;
  const int column = column_tile * 16 + Shape::column() * 8;
  Vector<bf16, 8>* const x_kept = reinterpret_cast<Vector<bf16, 8>*>(shared_memory() + 16896) + Shape::column();
  const Vector<float, 8> weight = load<8>(weight_in, column);
  ColumnReduction<Sum<float>, Shape, 1> v_sum_tree;
#pragma unroll 1
  for (int i = 0; i < 2; ++i) {
#pragma unroll 2
    for (int turn = 0; turn < 2; ++turn) {
      const int tile = far_first<2>(i) + 2 * turn;
#pragma unroll
      for (int within = 0; within < 4; ++within) {
        const int along = 4 * (first_chunk + Shape::chunk(tile)) + within;
        Vector<bf16, 8> x;
        x = load<8>(x_in, column + along * 4096);
#pragma unroll
        for (int k = 0; k < 8; ++k) {
          const float h = to_float(x[k]);
          v_sum_tree.add(k, h, 0);
        }
        x_kept[(within * 1024 + Shape::chunk(tile)) * 2] = x;
      }
    }
    v_sum_tree.finish_accumulator(i);
  }
  v_sum_tree.finish_part(0, exchange);
  cluster_wait();  // all blocks of the cluster have started
  Sum<float> v_sum_tree_states[8];
  v_sum_tree.finish(v_sum_tree_states, exchange);
  Sum<float>* const v_sum_splits = cluster.next<Sum<float>>();
  share_states<4, Shape>(v_sum_splits, v_sum_tree_states);
  cluster_arrive();
  cluster_wait();
  join_shared_states<4, true, Shape>(v_sum_splits, v_sum_tree_states);
  Vector<float, 8> v_sum;
#pragma unroll
  for (int k = 0; k < 8; ++k) v_sum[k] = v_sum_tree_states[k].result();
  Vector<float, 8> m;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const float m_2 = v_sum[k] * 6.1035156e-05f;
    m[k] = m_2;
  }
  ColumnReduction<Sum<float>, Shape, 1> v_squares_tree;
#pragma unroll 1
  for (int i = 0; i < 2; ++i) {
#pragma unroll 2
    for (int turn = 0; turn < 2; ++turn) {
      const int tile = far_first<2>(i) + 2 * turn;
#pragma unroll
      for (int within = 0; within < 4; ++within) {
        const int along = 4 * (first_chunk + Shape::chunk(tile)) + within;
        const Vector<bf16, 8> x = x_kept[(within * 1024 + Shape::chunk(tile)) * 2];
#pragma unroll
        for (int k = 0; k < 8; ++k) {
          const float h = to_float(x[k]);
          const float c = h - m[k];
          const float mul_5 = c * c;
          v_squares_tree.add(k, mul_5, 0);
        }
      }
    }
    v_squares_tree.finish_accumulator(i);
  }
  v_squares_tree.finish_part(0, exchange);
  Sum<float> v_squares_tree_states[8];
  v_squares_tree.finish(v_squares_tree_states, exchange);
  Sum<float>* const v_squares_splits = cluster.next<Sum<float>>();
  share_states<4, Shape>(v_squares_splits, v_squares_tree_states);
  cluster_arrive();
  cluster_wait();
  join_shared_states<4, true, Shape>(v_squares_splits, v_squares_tree_states);
  Vector<float, 8> v_squares;
#pragma unroll
  for (int k = 0; k < 8; ++k) v_squares[k] = v_squares_tree_states[k].result();
  Vector<float, 8> v;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const float v_2 = v_squares[k] * 6.1035156e-05f;
    v[k] = v_2;
  }
  Vector<float, 8> e;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const float e_2 = v[k] + 1.e-05f;
    e[k] = e_2;
  }
  Vector<float, 8> r;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const float r_2 = rsqrtf(e[k]);
    r[k] = r_2;
  }
#pragma unroll 1
  for (int i = 0; i < 2; ++i) {
#pragma unroll 2
    for (int turn = 0; turn < 2; ++turn) {
      const int tile = far_first<2>(i) + 2 * turn;
#pragma unroll
      for (int within = 0; within < 4; ++within) {
        const int along = 4 * (first_chunk + Shape::chunk(tile)) + within;
        const Vector<bf16, 8> x = x_kept[(within * 1024 + Shape::chunk(tile)) * 2];
        Vector<bf16, 8> y;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
          const float h = to_float(x[k]);
          const float c = h - m[k];
          const float n = c * r[k];
          const float s = n * weight[k];
          y[k] = to_memory<bf16>(s);
        }
        store<8>(y_out, column + along * 4096, y);
      }
    }
  }
  if (split == 0 && Shape::along() == 0) {
    Vector<float, 8> m_3;
#pragma unroll
    for (int k = 0; k < 8; ++k) m_3[k] = m[k];
    store<8>(m_out, column, m_3);
  }
}
// grid 1024, shared 147968, reads 134234112, writes 134234112
