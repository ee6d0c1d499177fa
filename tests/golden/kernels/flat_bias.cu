
// sinter kernel flat_bias_0 · pointwise · threads 256, vector 8, flat
//   b = add x, bias : bf16[16384, 3073]
//   r = maximum b, 0.0 : bf16[16384, 3073]
//   y = add r, residual : bf16[16384, 3073]
// reads 201398274 bytes, writes 100696064
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel flat_bias_0
extern "C" __global__ void __launch_bounds__(256)
flat_bias_0(const bf16* __restrict__ x_in,
            const bf16* __restrict__ bias_in,
            const bf16* __restrict__ residual_in,
            bf16* __restrict__ y_out) {
  wait_for_prior_launches();
  const int first = 8 * (static_cast<int>(blockIdx.x) * 256 + static_cast<int>(threadIdx.x));
  const Vector<bf16, 8> x = load<8>(x_in, first);
  const Vector<bf16, 8> residual = load<8>(residual_in, first);
  Vector<bf16, 8> y;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const float bias = to_float(load(bias_in, (first + k) % 3073));
    const float b = rounded<bf16>(to_float(x[k]) + bias);
    const float r = maximum(b, 0.0f);
    y[k] = to_memory<bf16>(r + to_float(residual[k]));
  }
  store<8>(y_out, first, y);
}
// grid 24584, shared 0, reads 201398274, writes 100696064
