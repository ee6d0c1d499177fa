
// sinter kernel transpose_add_0 · pointwise · threads 256, vector 4
//   s = add t, y : f32[1024, 512]
// an input is read element by element: neighbouring threads find it 1024 elements apart
// reads 4194304 bytes, writes 2097152
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel transpose_add_0
extern "C" __global__ void __launch_bounds__(256)
transpose_add_0(const float* __restrict__ x_in,
                const float* __restrict__ y_in,
                float* __restrict__ s_out) {
  const int first = 4 * (static_cast<int>(blockIdx.x) * 256 + static_cast<int>(threadIdx.x));
  const int column = first % 512;
  const int row = first / 512;
  const Vector<float, 4> x = load_apart<4>(x_in, row + column * 1024, 1024, 4);
  const Vector<float, 4> y = load<4>(y_in, row * 512 + column);
  Vector<float, 4> s;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    s[k] = x[k] + y[k];
  }
  store<4>(s_out, row * 512 + column, s);
}
// grid 512, shared 0, reads 4194304, writes 2097152
