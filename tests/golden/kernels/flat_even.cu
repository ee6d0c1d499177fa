
// sinter kernel flat_even_0 · pointwise · threads 256, vector 8, flat, unroll 2
//   b = add x, bias : bf16[16384, 3074]
//   y = mul b, scale : bf16[16384, 3074]
// reads 100767748 bytes, writes 100728832
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel flat_even_0
extern "C" __global__ void __launch_bounds__(256)
flat_even_0(const bf16* __restrict__ x_in,
            const bf16* __restrict__ bias_in,
            const bf16* __restrict__ scale_in,
            bf16* __restrict__ y_out) {
  wait_for_prior_launches();
  const int start = static_cast<int>(blockIdx.x) * 4096 + static_cast<int>(threadIdx.x) * 8;
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    const int first = start + u * 2048;
    const Vector<bf16, 8> x = load<8>(x_in, first);
    Vector<bf16, 8> bias;
#pragma unroll
    for (int k = 0; k < 8; k += 2) put(bias, k, load<2>(bias_in, (first + k) % 3074));
    Vector<bf16, 8> scale;
#pragma unroll
    for (int k = 0; k < 8; k += 2) put_same<2>(scale, k, load(scale_in, (first + k) / 3074));
    Vector<bf16, 8> y;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const float b = rounded<bf16>(to_float(x[k]) + to_float(bias[k]));
      y[k] = to_memory<bf16>(b * to_float(scale[k]));
    }
    store<8>(y_out, first, y);
  }
}
// grid 12296, shared 0, reads 100767748, writes 100728832
