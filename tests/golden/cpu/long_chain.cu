// sinter kernel long_chain_0 · pointwise · threads 1, vector 64, unroll 16
//   a = mul x, 0.75 : bf16[100000]
//   b = add a, 0.5 : bf16[100000]
//   c = maximum b, x : bf16[100000]
//   d = mul c, 0.75 : bf16[100000]
//   e = add d, 0.5 : bf16[100000]
//   f = maximum e, x : bf16[100000]
//   g = mul f, 0.75 : bf16[100000]
//   h = add g, 0.5 : bf16[100000]
//   i = maximum h, x : bf16[100000]
// reads 200000 bytes, writes 200000
// reproduce: sinter dump FILE --stage source --arch cpu --kernel long_chain_0
extern "C" __global__ void __launch_bounds__(1)
long_chain_0(const bf16* __restrict__ x_in,
             bf16* __restrict__ i_out) {
  wait_for_prior_launches();
  const int start = static_cast<int>(blockIdx.x) * 1024 + static_cast<int>(threadIdx.x) * 64;
  if (start + 1023 < 100000) {
#pragma unroll
    for (int u = 0; u < 16; ++u) {
      const int first = start + u * 64;
      const auto& x = load_view<64>(x_in, first);
      Vector<bf16, 64> i_;
      Vector<float, 64> e_elements;
#pragma unroll
      for (int k = 0; k < 64; ++k) {
        const float a = rounded<bf16>(to_float(x[k]) * 0.75f);
        const float b = rounded<bf16>(a + 0.5f);
        const float c = maximum(b, to_float(x[k]));
        const float d = rounded<bf16>(c * 0.75f);
        const float e = rounded<bf16>(d + 0.5f);
        e_elements[k] = e;
      }
#pragma unroll
      for (int k = 0; k < 64; ++k) {
        const float e_2 = e_elements[k];
        const float f = maximum(e_2, to_float(x[k]));
        const float g = rounded<bf16>(f * 0.75f);
        const float h = rounded<bf16>(g + 0.5f);
        i_[k] = exact_to_memory<bf16>(maximum(h, to_float(x[k])));
      }
      store<64>(i_out, first, i_);
    }
    return;
  }
#pragma unroll 1
  for (int u = 0; u < 16; ++u) {
    const int first = start + u * 64;
    if (first < 100000) {
      const int count = minimum(int(64), 100000 - first);
      const Vector<bf16, 64> x = load_some<64>(x_in, first, count);
      Vector<bf16, 64> i_;
      Vector<float, 64> e_elements;
#pragma unroll
      for (int k = 0; k < 64; ++k) {
        const float a = rounded<bf16>(to_float(x[k]) * 0.75f);
        const float b = rounded<bf16>(a + 0.5f);
        const float c = maximum(b, to_float(x[k]));
        const float d = rounded<bf16>(c * 0.75f);
        const float e = rounded<bf16>(d + 0.5f);
        e_elements[k] = e;
      }
#pragma unroll
      for (int k = 0; k < 64; ++k) {
        const float e_2 = e_elements[k];
        const float f = maximum(e_2, to_float(x[k]));
        const float g = rounded<bf16>(f * 0.75f);
        const float h = rounded<bf16>(g + 0.5f);
        i_[k] = exact_to_memory<bf16>(maximum(h, to_float(x[k])));
      }
      store_some<64>(i_out, first, i_, count);
    }
  }
}

