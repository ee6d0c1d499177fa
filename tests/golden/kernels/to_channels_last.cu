// guard: batch * 30720 at most 2146435072

// sinter kernel to_channels_last_0 · pointwise · threads 128, vector 4, tiles of 32 x 32
//   h = cast p {to = f32} : f32[batch, 20, 24, 64]
//   s = mul h, scale : f32[batch, 20, 24, 64]
//   y = cast s {to = bf16} : bf16[batch, 20, 24, 64]
// reads batch * 61440 + 256 bytes, writes batch * 61440
// reproduce: sinter dump FILE --stage source --arch sm_90 --size batch=N --kernel to_channels_last_0
extern "C" __global__ void __launch_bounds__(128)
to_channels_last_0(const bf16* __restrict__ x_in,
                   const float* __restrict__ scale_in,
                   bf16* __restrict__ y_out,
                   const int batch) {
  wait_for_prior_launches();
  const int left = static_cast<int>(blockIdx.x) % 2 * 32;
  const int top = static_cast<int>(blockIdx.x) / 2 % 15 * 32;
  const int outer = static_cast<int>(blockIdx.x) / 2 / 15;
  const Tile<bf16, 32, 1> x_tile(shared_memory());
  Vector<bf16, 8> x_tile_ahead[1] = {};
#pragma unroll
  for (int u = 0; u < 1; ++u) {
    const TilePlace<32, 8, 4> place(threadIdx.x + u * 128);
    const int row = top + place.start;
    const int column = left + place.line;
    x_tile_ahead[u] = load<8>(x_in, outer * 30720 + row + column * 480);
  }
#pragma unroll
  for (int u = 0; u < 1; ++u) {
    const TilePlace<32, 8, 4> place(threadIdx.x + u * 128);
    x_tile.put(place.line, place.start, x_tile_ahead[u]);
  }
  block_barrier();
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    const TilePlace<32, 4, 8> place(threadIdx.x + u * 128);
    const int row = top + place.line;
    const int column = left + place.start;
    const Vector<float, 4> scale = load<4>(scale_in, column);
    Vector<bf16, 4> y;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float x = to_float(x_tile(place.start + k, place.line));
      const float h = x;
      const float s = h * scale[k];
      y[k] = to_memory<bf16>(s);
    }
    store<4>(y_out, outer * 30720 + row * 64 + column, y);
  }
}
// grid batch * 30, shared 2176, reads batch * 61440 + 256, writes batch * 61440
