// guard: rows * 1024 at most 2146435072

// sinter kernel dropout_0 · pointwise · threads 64, vector 4
//   cast_2 = cast seed {to = u64} : u64[]
//   cast_3 = cast reshape_1 {to = u64} : u64[rows, 1024]
//   philox_4 = philox cast_2, 0, cast_3 : u32[rows, 1024]
//   right_shift_5 = right_shift philox_4, 8 : u32[rows, 1024]
//   cast_6 = cast right_shift_5 {to = f32} : f32[rows, 1024]
//   mul_7 = mul cast_6, 5.9604645e-08 : f32[rows, 1024]
//   lt_8 = lt mul_7, 0.25 : bool[rows, 1024]
//   mul_9 = mul x, 1.3333334 : bf16[rows, 1024]
//   y = where lt_8, 0.0, mul_9 : bf16[rows, 1024]
//   b = philox cast_2, 5, cast_3 : u32[rows, 1024]
//   p = gt x, 0.0 : bool[rows, 1024]
//   m = cast p {to = bf16} : bf16[rows, 1024]
//   z = mul y, m : bf16[rows, 1024]
// reads rows * 2048 + 8 bytes, writes rows * 6144
// reproduce: sinter dump FILE --stage source --arch sm_90 --size rows=N --kernel dropout_0
extern "C" __global__ void __launch_bounds__(64)
dropout_0(const bf16* __restrict__ x_in,
          const long long* __restrict__ seed_in,
          bf16* __restrict__ z_out,
          unsigned* __restrict__ b_out,
          const int rows) {
  wait_for_prior_launches();
  const int first = 4 * (static_cast<int>(blockIdx.x) * 64 + static_cast<int>(threadIdx.x));
  if (first >= rows * 1024) return;
  const long long seed = load(seed_in, 0);
  const unsigned long long cast_2 = static_cast<unsigned long long>(seed);
  const Vector<bf16, 4> x = load<4>(x_in, first);
  const Vector<unsigned, 4> b = philox_words<4>(cast_2, 5ull, static_cast<long long>(first));
  const Vector<unsigned, 4> philox_4 = philox_words<4>(cast_2, 0ull, static_cast<long long>(first));
  Vector<unsigned, 4> b_2;
  Vector<bf16, 4> z;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const unsigned right_shift_5 = shift_right(philox_4[k], 8u);
    const float cast_6 = static_cast<float>(right_shift_5);
    const float mul_7 = cast_6 * 5.9604645e-08f;
    const bool lt_8 = mul_7 < 0.25f;
    const float mul_9 = rounded<bf16>(to_float(x[k]) * 1.3333334f);
    const float y = lt_8 ? 0.0f : mul_9;
    const bool p = to_float(x[k]) > 0.0f;
    const float m = static_cast<float>(p);
    b_2[k] = b[k];
    z[k] = to_memory<bf16>(y * m);
  }
  store<4>(b_out, first, b_2);
  store<4>(z_out, first, z);
}
// grid rows * 4, shared 0, reads rows * 2048 + 8, writes rows * 6144
