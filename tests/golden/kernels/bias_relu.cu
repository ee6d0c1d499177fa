// guard: columns at most 2146435072, divisible by 16
// guard: columns * rows at most 2146435072

// sinter kernel bias_relu_0 · pointwise · threads 64, vector 4
//   sum = add x, bias : f32[rows, columns]
//   y = maximum sum, 0.0 : f32[rows, columns]
// reads columns * 4 + columns * rows * 4 bytes, writes columns * rows * 4
// reproduce: sinter dump FILE --stage source --arch sm_90 --size rows=N,columns=N --kernel bias_relu_0
extern "C" __global__ void __launch_bounds__(64)
bias_relu_0(const float* __restrict__ x_in,
            const float* __restrict__ bias_in,
            float* __restrict__ y_out,
            const int rows,
            const int columns) {
  wait_for_prior_launches();
  const int first = 4 * (static_cast<int>(blockIdx.x) * 64 + static_cast<int>(threadIdx.x));
  if (first >= rows * columns) return;
  const int column = first % columns;
  const int row = first / columns;
  const Vector<float, 4> x = load<4>(x_in, row * columns + column);
  const Vector<float, 4> bias = load<4>(bias_in, column);
  Vector<float, 4> y;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float sum = x[k] + bias[k];
    y[k] = maximum(sum, 0.0f);
  }
  store<4>(y_out, row * columns + column, y);
}
// grid floor_div(columns * rows + 255, 256), shared 0, reads columns * 4 + columns * rows * 4, writes columns * rows * 4
