
// sinter kernel across_columns_0 · column_reduce · threads 128, vector 4, 32 per row, 4 rows per block, 1 block per SM
//   xf = cast xp {to = f32} : f32[2, 64, 12, 8]
//   yf = cast y {to = f32} : f32[2, 64, 12, 8]
//   p = mul xf, yf : f32[2, 64, 12, 8]
//   q = add p, zp : f32[2, 64, 12, 8]
//   r = cast q {to = bf16} : bf16[2, 64, 12, 8]
//   s = sum q {axes = [2, 3], keep = false} : f32[2, 64]
// an input is read element by element: neighbouring threads find it 96 elements apart
// reads 98304 bytes, writes 25088
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel across_columns_0
extern "C" __global__ void __launch_bounds__(128, 1)
across_columns_0(const bf16* __restrict__ x_in,
                 const bf16* __restrict__ y_in,
                 const float* __restrict__ z_in,
                 bf16* __restrict__ r_out,
                 float* __restrict__ s_out) {
  wait_for_prior_launches();
  using Shape = ColumnShape<4, 32, 1, 32, 4>;
  Exchange exchange = {shared_memory(), 1024, 0};
  const int outer = static_cast<int>(blockIdx.x) / 4;
  const int column = (static_cast<int>(blockIdx.x) % 4) * 16 + Shape::column() * 4;
  ColumnReduction<Sum<float>, Shape, 1> s_tree;
#pragma unroll 1
  for (int tile = 0; tile < 1; tile += 1) {
    if (Shape::chunk(tile) < 24) {
      Vector<bf16, 4> y_ahead[4];
      load_across(y_ahead, y_in, outer * 6144 + column * 96 + (4 * Shape::chunk(tile)), 96);
      Vector<bf16, 4> r_chunk[4];
#pragma unroll
      for (int within = 0; within < 4; ++within) {
        const int along = 4 * Shape::chunk(tile) + within;
        const Vector<bf16, 4> x = load<4>(x_in, outer * 6144 + column + along * 64);
        const Vector<bf16, 4> y = y_ahead[within];
        const Vector<float, 4> z = load<4>(z_in, outer * 6144 + column + along * 64);
        Vector<bf16, 4> r;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const float xf = to_float(x[k]);
          const float yf = to_float(y[k]);
          const float p = xf * yf;
          const float q = p + z[k];
          s_tree.add(k, q, 0);
          r[k] = to_memory<bf16>(q);
        }
        r_chunk[within] = r;
      }
      store_across(r_out, outer * 6144 + column * 96 + (4 * Shape::chunk(tile)), 96, r_chunk);
    }
  }
  s_tree.finish_accumulator(0);
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
    store<4>(s_out, outer * 64 + column, s_2);
  }
}
// grid 8, shared 2048, reads 98304, writes 25088
