
// sinter kernel rotary_0 · pointwise · threads 256, vector 4
//   head = cast x {to = f32} : f32[2048, 32, 128]
//   lc = mul low, c : f32[2048, 32, 64]
//   hs = mul high, s : f32[2048, 32, 64]
//   hc = mul high, c : f32[2048, 32, 64]
//   ls = mul low, s : f32[2048, 32, 64]
//   first = sub lc, hs : f32[2048, 32, 64]
//   second = add hc, ls : f32[2048, 32, 64]
//   turned = concat first, second {axis = 2} : f32[2048, 32, 128]
//   y = cast turned {to = bf16} : bf16[2048, 32, 128]
// reads 17825792 bytes, writes 16777216
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel rotary_0
extern "C" __global__ void __launch_bounds__(256)
rotary_0(const bf16* __restrict__ x_in,
         const float* __restrict__ cosine_in,
         const float* __restrict__ sine_in,
         bf16* __restrict__ y_out) {
  wait_for_prior_launches();
  const int first = 4 * (static_cast<int>(blockIdx.x) * 256 + static_cast<int>(threadIdx.x));
  const int column = first % 64;
  const int row_1 = (first / 64) % 32;
  const int row_0 = (first / 64) / 32;
  const Vector<bf16, 4> x = load<4>(x_in, row_0 * 4096 + row_1 * 128 + column);
  const Vector<float, 4> cosine = load<4>(cosine_in, row_0 * 64 + column);
  const Vector<bf16, 4> x_2 = load<4>(x_in, row_0 * 4096 + row_1 * 128 + column + 64);
  const Vector<float, 4> sine = load<4>(sine_in, row_0 * 64 + column);
  Vector<bf16, 4> y;
  Vector<bf16, 4> y_2;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float head = to_float(x[k]);
    const float lc = head * cosine[k];
    const float head_2 = to_float(x_2[k]);
    const float hs = head_2 * sine[k];
    const float first_ = lc - hs;
    const float hc = head_2 * cosine[k];
    const float ls = head * sine[k];
    const float second = hc + ls;
    y[k] = to_memory<bf16>(first_);
    y_2[k] = to_memory<bf16>(second);
  }
  store<4>(y_out, row_0 * 4096 + row_1 * 128 + column, y);
  store<4>(y_out, row_0 * 4096 + row_1 * 128 + column + 64, y_2);
}
// grid 4096, shared 0, reads 17825792, writes 16777216
