
// sinter kernel long_scan_0 · scan · threads 256, vector 4, 256 per row, 1 rows per block, split
//   running = cumsum x {axis = 1} : f32[4, 100000]
//   scaled = mul running, x : f32[4, 100000]
//   y = add scaled, bias : f32[4, 100000]
// reads at most 2003136 bytes, writes 1603120
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel long_scan_0
extern "C" __global__ void __launch_bounds__(256)
long_scan_0(const float* __restrict__ x_in,
            const float* __restrict__ bias_in,
            float* __restrict__ y_out,
            unsigned* __restrict__ tickets,
            unsigned char* __restrict__ workspace) {
  wait_for_prior_launches();
  const int lane = static_cast<int>(threadIdx.x);
  const int number = static_cast<int>(take_number(tickets, shared_memory()));
  const int tile = number % 98;
  const int group = number / 98;
  const int start = 1024 * tile;
  const int row = group;
  using State = Sum<float>;
  State* const states = reinterpret_cast<State*>(shared_memory());
  State* const totals = reinterpret_cast<State*>(workspace);
  State* const prefixes = reinterpret_cast<State*>(workspace + 1568);
  const TileStates<State> handed_on = {totals, prefixes, tile_flags(tickets)};
  State within[4];
  State total[1];
  total[0] = State::identity();
  const int column = start + 4 * lane;
  Vector<float, 4> x;
  if (column < 100000) {
    x = load<4>(x_in, row * 100000 + column);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      total[0].add(x[k], 0);
      within[k] = total[0];
    }
  }
  const State all = scan_lanes<256, 1, 1>(total, states, 256, lane);
  const State carry = look_back<256, 1, 1>(all, handed_on, tile, number - tile, 0, states, 256, lane);
  if (column < 100000) {
    const State before = State::join(carry, total[0]);
    const Vector<float, 4> bias = load<4>(bias_in, column);
    Vector<float, 4> y;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float running = State::join(before, within[k]).result();
      const float scaled = running * x[k];
      y[k] = scaled + bias[k];
    }
    store<4>(y_out, row * 100000 + column, y);
  }
  end_tiles(tickets, gridDim.x, 256);
}
// grid 392, shared 2048, reads 2003136, writes 1603120
