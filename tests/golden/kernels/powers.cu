
// sinter kernel powers_0 · 2 kernels in 1 phase · threads 64
// reads 6144 bytes, writes 10240
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel powers_0

// phase 0: pointwise · threads 64, vector 8
//   b = pow h, 3.0 : bf16[1024]
// reads 2048 bytes, writes 2048
static __device__ __forceinline__ void
powers_0_0(const bf16* __restrict__ h_in,
           bf16* __restrict__ b_out,
           const int block) {
  const int first = 8 * (block * 64 + static_cast<int>(threadIdx.x));
  const Vector<bf16, 8> h = load<8>(h_in, first);
  Vector<bf16, 8> b;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    b[k] = to_memory<bf16>(to_float(h[k]) * to_float(h[k]) * to_float(h[k]));
  }
  store<8>(b_out, first, b);
}

// phase 0: pointwise · threads 64, vector 4
//   a = pow x, 2.0 : f32[1024]
//   c = pow x, 0.5 : f32[1024]
// reads 4096 bytes, writes 8192
static __device__ __forceinline__ void
powers_0_1(const float* __restrict__ x_in,
           float* __restrict__ a_out,
           float* __restrict__ c_out,
           const int block) {
  const int first = 4 * (block * 64 + static_cast<int>(threadIdx.x));
  const Vector<float, 4> x = load<4>(x_in, first);
  Vector<float, 4> a;
  Vector<float, 4> c;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    a[k] = x[k] * x[k];
    c[k] = powf(x[k], opaque_value(0.5f));
  }
  store<4>(a_out, first, a);
  store<4>(c_out, first, c);
}

extern "C" __global__ void __launch_bounds__(64)
powers_0(const bf16* __restrict__ h_in,
         bf16* __restrict__ b_out,
         const float* __restrict__ x_in,
         float* __restrict__ a_out,
         float* __restrict__ c_out) {
  wait_for_prior_launches();
  const int block = static_cast<int>(blockIdx.x);
  if (block < 2)
    powers_0_0(h_in, b_out, block);
  else
    powers_0_1(x_in, a_out, c_out, block - 2);
}
// grid 6, shared 0, reads 6144, writes 10240
