// sinter kernel transpose_add_0 · pointwise · threads 1, vector 64, tiles of 64 x 64
//   y = add x, t : f32[2730, 1024]
// reads 22364160 bytes, writes 11182080
// reproduce: sinter dump FILE --stage source --arch cpu --kernel transpose_add_0
extern "C" __global__ void __launch_bounds__(1)
transpose_add_0(const float* __restrict__ x_in,
                const float* __restrict__ z_in,
                float* __restrict__ y_out) {
  wait_for_prior_launches();
  const int left = static_cast<int>(blockIdx.x) % 16 * 64;
  const int top = static_cast<int>(blockIdx.x) / 16 * 64;
  const Tile<float, 64, 64> z_tile(shared_memory());
  for (int down = 0; down < 64; down += 1) {
    for (int start = 0; start < 64; start += 64) {
      const struct { int line, start; } place = {down, start};
      Vector<float, 64> ahead = {};
      const int row = top + place.start;
      const int column = left + place.line;
      const int count = minimum(int(64), 2730 - row);
      prefetch<64>(z_in, row + (column + 16) * 2730);
      if (row < 2730) ahead = load_some<64>(z_in, row + column * 2730, count);
      z_tile.put(place.line, place.start, ahead);
    }
  }
  z_tile.transpose();
  block_barrier();
  for (int down = 0; down < 64; down += 1) {
    for (int start = 0; start < 64; start += 64) {
      const struct { int line, start; } place = {down, start};
      const int row = top + place.line;
      const int column = left + place.start;
      if (row < 2730) {
        prefetch<64>(x_in, (row + 16) * 1024 + column);
        const auto& x = load_view<64>(x_in, row * 1024 + column);
        Vector<float, 64> y;
#pragma unroll
        for (int k = 0; k < 64; ++k) {
          const float z = z_tile(place.line, place.start + k);
          y[k] = x[k] + z;
        }
        store<64>(y_out, row * 1024 + column, y);
      }
    }
  }
}

