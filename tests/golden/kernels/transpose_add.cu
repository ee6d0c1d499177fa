
// sinter kernel transpose_add_0 · pointwise · threads 256, vector 4, tiles of 32 x 32
//   s = add t, y : f32[1024, 512]
// reads 4194304 bytes, writes 2097152
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel transpose_add_0
extern "C" __global__ void __launch_bounds__(256)
transpose_add_0(const float* __restrict__ x_in,
                const float* __restrict__ y_in,
                float* __restrict__ s_out) {
  wait_for_prior_launches();
  const int left = static_cast<int>(blockIdx.x) % 16 * 32;
  const int top = static_cast<int>(blockIdx.x) / 16 * 32;
  const Tile<float, 32, 1> x_tile(shared_memory());
  Vector<float, 4> x_tile_ahead[1] = {};
#pragma unroll
  for (int u = 0; u < 1; ++u) {
    const TilePlace<32, 4, 8> place(threadIdx.x + u * 256);
    const int row = top + place.start;
    const int column = left + place.line;
    x_tile_ahead[u] = load<4>(x_in, row + column * 1024);
  }
#pragma unroll
  for (int u = 0; u < 1; ++u) {
    const TilePlace<32, 4, 8> place(threadIdx.x + u * 256);
    x_tile.put(place.line, place.start, x_tile_ahead[u]);
  }
  block_barrier();
#pragma unroll
  for (int u = 0; u < 1; ++u) {
    const TilePlace<32, 4, 8> place(threadIdx.x + u * 256);
    const int row = top + place.line;
    const int column = left + place.start;
    const Vector<float, 4> y = load<4>(y_in, row * 512 + column);
    Vector<float, 4> s;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float x = x_tile(place.start + k, place.line);
      s[k] = x + y[k];
    }
    store<4>(s_out, row * 512 + column, s);
  }
}
// grid 512, shared 4224, reads 4194304, writes 2097152
