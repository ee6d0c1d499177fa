
// sinter kernel sgd_0 · pointwise · threads 64, vector 4
//   step = mul gradient, lr : f32[10, 64]
//   new = sub weight, step : f32[10, 64]
// reads 5120 bytes, writes 2560
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel sgd_0
extern "C" __global__ void __launch_bounds__(64)
sgd_0(const float* __restrict__ gradient_in,
      float* weight_io,
      const float lr) {
  wait_for_prior_launches();
  const int first = 4 * (static_cast<int>(blockIdx.x) * 64 + static_cast<int>(threadIdx.x));
  if (first >= 640) return;
  const Vector<float, 4> weight = load<4>(weight_io, first);
  const Vector<float, 4> gradient = load<4>(gradient_in, first);
  Vector<float, 4> weight_2;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float step_ = gradient[k] * lr;
    weight_2[k] = weight[k] - step_;
  }
  store<4>(weight_io, first, weight_2);
}
// grid 3, shared 0, reads 5120, writes 2560
