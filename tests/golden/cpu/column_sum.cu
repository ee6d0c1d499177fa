// sinter kernel column_sum_0 · column_reduce · threads 1, vector 1024, 64 splits
//   h = cast x {to = f32} : f32[8192, 1024]
//   s = sum h {axes = [0], keep = false} : f32[1024]
// reads 17039360 bytes, writes 266240
// reproduce: sinter dump FILE --stage source --arch cpu --kernel column_sum_0
extern "C" __global__ void __launch_bounds__(1)
column_sum_0(const bf16* __restrict__ x_in,
             float* __restrict__ s_out,
             unsigned* __restrict__ tickets,
             unsigned char* __restrict__ workspace) {
  wait_for_prior_launches();
  using Shape = ColumnShape<1, 1, 1, 16, 1024>;
  Exchange exchange = {shared_memory(), 4096, 0};
  const int column_tile = 0;
  const int split = static_cast<int>(blockIdx.x);
  const int residue = split / 2;
  const int first_chunk = split % 2 * 1024;
  const int column = column_tile * 1024;
  LongColumnReduction<Sum<float>, Shape, 1> s_tree;
#pragma unroll 1
  for (int i = 0; i < 16; ++i) {
#pragma unroll 1
    for (int turn = 0; turn < 2; ++turn) {
      const int tile = far_first<16>(i) + 16 * turn;
      const int tile_ahead = tile + 16 < 32 ? tile + 16 : far_first<16>(i + 1);
#pragma unroll
      for (int within = 0; within < 4; ++within) {
        const int along_ahead = 4 * (first_chunk + (residue + 32 * Shape::chunk(tile_ahead))) + within;
        prefetch<1024>(x_in, column + along_ahead * 1024);
        const int along = 4 * (first_chunk + (residue + 32 * Shape::chunk(tile))) + within;
        const auto& x = load_view<1024>(x_in, column + along * 1024);
        Sum<float>* __restrict__ const s_tree_columns = s_tree.current;
#pragma unroll
        for (int k = 0; k < 1024; ++k) {
          const float h = to_float(x[k]);
          s_tree_columns[k].add(h, 0);
        }
      }
    }
    s_tree.finish_accumulator(i);
  }
  s_tree.finish_part(0, exchange);
  Sum<float> s_tree_states[1024];
  s_tree.finish<false>(s_tree_states, exchange);
  Sum<float>* s_splits = reinterpret_cast<Sum<float>*>(workspace);
  store_split<Shape>(s_splits, split, s_tree_states);
  if (!last_block(tickets, 64)) return;
  join_splits<64, false, Shape>(s_splits, s_tree_states, exchange);
  Vector<float, 1024> s;
#pragma unroll
  for (int k = 0; k < 1024; ++k) s[k] = s_tree_states[k].result();
  if (Shape::along() == 0) {
    Vector<float, 1024> s_2;
#pragma unroll
    for (int k = 0; k < 1024; ++k) s_2[k] = s[k];
    store<1024>(s_out, column, s_2);
  }
}

