// guard: rows * 4096 at most 2146435072

// sinter kernel rms_norm_0 · row_reduce · threads 128, vector 8, 64 per row, 2 rows per block, resident
//   h = cast x {to = f32} : f32[rows, 4096]
//   sq = mul h, h : f32[rows, 4096]
//   w = cast weight {to = f32} : f32[4096]
//   ms_sum = sum sq {axes = [1], keep = true} : f32[rows, 1]
//   ms = mul ms_sum, 0.00024414062 : f32[rows, 1]
//   eps = add ms, 1e-06 : f32[rows, 1]
//   r = rsqrt eps : f32[rows, 1]
//   n = mul h, r : f32[rows, 4096]
//   s = mul n, w : f32[rows, 4096]
//   y = cast s {to = bf16} : bf16[rows, 4096]
// reads rows * 8192 + 8192 bytes, writes rows * 8192
// reproduce: sinter dump FILE --stage source --arch sm_90 --size rows=N --kernel rms_norm_0
extern "C" __global__ void __launch_bounds__(128)
rms_norm_0(const bf16* __restrict__ x_in,
           const bf16* __restrict__ weight_in,
           bf16* __restrict__ y_out,
           const int rows) {
  wait_for_prior_launches();
  using Shape = RowShape<64, 1, 512, 8>;
  Exchange exchange = {shared_memory(), 1024, 0};
  const int first_column = 4 * Shape::chunk(0);
  const int wanted_row = static_cast<int>(blockIdx.x) * 2 + static_cast<int>(threadIdx.x) / Shape::kThreads;
  const bool live = wanted_row <= rows - 1;
  const int row = live ? wanted_row : rows - 1;
  Vector<bf16, 8> x[8];
  RowReduction<Sum<float>, Shape, 1> ms_sum_tree;
#pragma unroll
  for (int tile = 0; tile < 8; ++tile) {
    const int column = first_column + 512 * tile;
    x[tile] = load<8>(x_in, row * 4096 + column);
  }
#pragma unroll
  for (int tile = 0; tile < 8; ++tile) {
    const int column = first_column + 512 * tile;
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
#pragma unroll
  for (int tile = 0; tile < 8; ++tile) {
    const int column = first_column + 512 * tile;
    convert_again(x[tile]);
    if (live) {
      const Vector<bf16, 8> weight = load<8>(weight_in, column);
      Vector<bf16, 8> y;
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        const float h = to_float(x[tile][k]);
        const float n = h * r;
        const float w = to_float(weight[k]);
        const float s = n * w;
        y[k] = to_memory<bf16>(s);
      }
      store<8>(y_out, row * 4096 + column, y);
    }
  }
}
// grid floor_div(rows + 1, 2), shared 2048, reads rows * 8192 + 8192, writes rows * 8192
