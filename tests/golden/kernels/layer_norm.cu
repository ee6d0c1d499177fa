// guard: rows * 1024 at most 2146435072

// sinter kernel layer_norm_0 · row_reduce · threads 128, vector 4, 32 per row, 4 rows per block, resident
//   h = cast x {to = f32} : f32[rows, 1024]
//   v_sum = sum h {axes = [1], keep = true} : f32[rows, 1]
//   m = mul v_sum, 0.0009765625 : f32[rows, 1]
//   d = sub h, m : f32[rows, 1024]
//   mul_5 = mul d, d : f32[rows, 1024]
//   v_squares = sum mul_5 {axes = [1], keep = true} : f32[rows, 1]
//   v = mul v_squares, 0.0009765625 : f32[rows, 1]
//   e = add v, 1e-05 : f32[rows, 1]
//   r = rsqrt e : f32[rows, 1]
//   n = mul d, r : f32[rows, 1024]
//   s = mul n, weight : f32[rows, 1024]
//   b = add s, bias : f32[rows, 1024]
//   y = cast b {to = bf16} : bf16[rows, 1024]
// reads rows * 2048 + 8192 bytes, writes rows * 2048
// reproduce: sinter dump FILE --stage source --arch sm_90 --size rows=N --kernel layer_norm_0
extern "C" __global__ void __launch_bounds__(128)
layer_norm_0(const bf16* __restrict__ x_in,
             const float* __restrict__ weight_in,
             const float* __restrict__ bias_in,
             bf16* __restrict__ y_out,
             const int rows) {
  wait_for_prior_launches();
  using Shape = RowShape<32, 1, 256, 4>;
  Exchange exchange = {shared_memory(), 0, 0};
  const int first_column = 4 * Shape::chunk(0);
  const int wanted_row = static_cast<int>(blockIdx.x) * 4 + static_cast<int>(threadIdx.x) / Shape::kThreads;
  const bool live = wanted_row <= rows - 1;
  const int row = live ? wanted_row : rows - 1;
  Vector<bf16, 4> x[8];
  RowReduction<Sum<float>, Shape, 1> v_sum_tree;
#pragma unroll
  for (int tile = 0; tile < 8; ++tile) {
    const int column = first_column + 128 * tile;
    x[tile] = load<4>(x_in, row * 1024 + column);
  }
#pragma unroll
  for (int tile = 0; tile < 8; ++tile) {
    const int column = first_column + 128 * tile;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float h = to_float(x[tile][k]);
      v_sum_tree.add(tile, k, h, 0);
    }
  }
  v_sum_tree.finish_part(0, exchange);
  const float v_sum = v_sum_tree.finish(exchange).result();
  const float m = v_sum * 0.0009765625f;
  RowReduction<Sum<float>, Shape, 1> v_squares_tree;
#pragma unroll
  for (int tile = 0; tile < 8; ++tile) {
    const int column = first_column + 128 * tile;
    convert_again(x[tile]);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float h = to_float(x[tile][k]);
      const float d = h - m;
      const float mul_5 = d * d;
      v_squares_tree.add(tile, k, mul_5, 0);
    }
  }
  v_squares_tree.finish_part(0, exchange);
  const float v_squares = v_squares_tree.finish(exchange).result();
  const float v = v_squares * 0.0009765625f;
  const float e = v + 1.e-05f;
  const float r = rsqrtf(e);
#pragma unroll
  for (int tile = 0; tile < 8; ++tile) {
    const int column = first_column + 128 * tile;
    convert_again(x[tile]);
    if (live) {
      const Vector<float, 4> weight = load<4>(weight_in, column);
      const Vector<float, 4> bias = load<4>(bias_in, column);
      Vector<bf16, 4> y;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float h = to_float(x[tile][k]);
        const float d = h - m;
        const float n = d * r;
        const float s = n * weight[k];
        const float b = s + bias[k];
        y[k] = to_memory<bf16>(b);
      }
      store<4>(y_out, row * 1024 + column, y);
    }
  }
}
// grid floor_div(rows + 3, 4), shared 0, reads rows * 2048 + 8192, writes rows * 2048
