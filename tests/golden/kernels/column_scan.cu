
// sinter kernel column_scan_0 · scan · threads 512, vector 4, unroll 8, 32 per row, 16 rows per block
//   cast_1 = cast x {to = f32} : f32[2048, 4096]
//   cumsum_2 = cumsum cast_1 {axis = 0} : f32[2048, 4096]
//   y = cast cumsum_2 {to = bf16} : bf16[2048, 4096]
// reads 16777216 bytes, writes 16777216
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel column_scan_0
extern "C" __global__ void __launch_bounds__(512)
column_scan_0(const bf16* __restrict__ x_in,
              bf16* __restrict__ y_out) {
  wait_for_prior_launches();
  const int lane = static_cast<int>(threadIdx.x) / 16;
  const int row_of_block = static_cast<int>(threadIdx.x) % 16;
  const int row = static_cast<int>(blockIdx.x) * 16 + row_of_block;
  using State = Sum<float>;
  State* const states = reinterpret_cast<State*>(shared_memory()) + row_of_block;
  State carry = State::identity();
  for (int start = 0; start < 2048; start += 1024) {
    State within[8][4];
    State total[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) total[i] = State::identity();
#pragma unroll
    for (int chunk = 0; chunk < 8; ++chunk) {
      const int column = start + 4 * (32 * chunk + lane);
      if (column < 2048) {
        const Vector<bf16, 4> x = load_apart<4>(x_in, row + column * 4096, 4096, 4);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const float cast_1 = to_float(x[k]);
          total[chunk].add(cast_1, 0);
          within[chunk][k] = total[chunk];
        }
      }
    }
    if (start > 0) block_barrier();  // the previous tile has used the same memory
    const State all = scan_lanes<32, 8, 16>(total, states, 4096, lane);
#pragma unroll
    for (int chunk = 0; chunk < 8; ++chunk) {
      const int column = start + 4 * (32 * chunk + lane);
      if (column < 2048) {
        const State before = State::join(carry, total[chunk]);
        Vector<bf16, 4> y;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const float cumsum_2 = State::join(before, within[chunk][k]).result();
          y[k] = to_memory<bf16>(cumsum_2);
        }
        store_apart<4>(y_out, row + column * 4096, 4096, y, 4);
      }
    }
    carry = State::join(carry, all);
  }
}
// grid 256, shared 32768, reads 16777216, writes 16777216
