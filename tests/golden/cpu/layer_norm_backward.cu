// sinter kernel layer_norm_backward_0 · row_column_reduce · threads 1, vector 128, 64 splits, resident
//   c = sub x, mean : f32[rows, 1024]
//   n = mul c, r : f32[rows, 1024]
//   q = mul g, n : f32[rows, 1024]
//   dweight = sum q {axes = [0], keep = false} : f32[1024]
//   gw = mul g, weight : f32[rows, 1024]
//   p = mul gw, n : f32[rows, 1024]
//   a_sum = sum gw {axes = [1], keep = true} : f32[rows, 1]
//   b_sum = sum p {axes = [1], keep = true} : f32[rows, 1]
//   a = mul a_sum, 0.0009765625 : f32[rows, 1]
//   b = mul b_sum, 0.0009765625 : f32[rows, 1]
//   u = sub gw, a : f32[rows, 1024]
//   t = mul n, b : f32[rows, 1024]
//   k = sub u, t : f32[rows, 1024]
//   y = mul k, r : f32[rows, 1024]
// reads rows * 8200 + 266240 bytes, writes rows * 4096 + 299008
// reproduce: sinter dump FILE --stage source --arch cpu --size rows=N --kernel layer_norm_backward_0
extern "C" __global__ void __launch_bounds__(1)
layer_norm_backward_0(const float* __restrict__ x_in,
                      const float* __restrict__ g_in,
                      const float* __restrict__ weight_in,
                      const float* __restrict__ mean_in,
                      const float* __restrict__ r_in,
                      float* __restrict__ y_out,
                      float* __restrict__ dweight_out,
                      const int rows,
                      unsigned* __restrict__ tickets,
                      unsigned char* __restrict__ workspace) {
  wait_for_prior_launches();
  using Shape = RowShape<1, 1, 256, 128>;
  Exchange exchange = {shared_memory(), 0, 0};
  const int split = static_cast<int>(blockIdx.x);
  const int group = static_cast<int>(blockIdx.x) % 8;
  const int row_chunks = ((rows + 3) / 4);
  ColumnStates<Sum<float>, 1024, 3, 1> dweight_tree(shared_memory() + 0);
  Vector<float, 128> weight[8];
#pragma unroll
  for (int tile = 0; tile < 8; ++tile) {
    const int column = 4 * Shape::chunk(tile);
    weight[tile] = load<128>(weight_in, column);
  }
  const int first_chunk = 0;
#pragma unroll 1
  for (int turn = 0; turn < 8; ++turn) {
    const int accumulator = split + 64 * reversed<3>(turn);
#pragma unroll 1
    for (int chunk = accumulator; chunk < row_chunks; chunk += 512) {
      const int first_row = 4 * (first_chunk + chunk);
#pragma unroll 1
      for (int next = 0; next < 4; next += 1) {
        const int row = first_row + next;
        if (row < rows) {
          Vector<float, 128> g[8];
          Vector<float, 128> x[8];
          Vector<float, 128> gw[8];
#pragma unroll
          for (int tile = 0; tile < 8; ++tile) {
            const int column = 4 * Shape::chunk(tile);
            prefetch_for_store<128>(y_out, row * 1024 + column);
            prefetch<128>(g_in, (row + 1) * 1024 + column);
            prefetch<128>(x_in, (row + 1) * 1024 + column);
            g[tile] = load<128>(g_in, row * 1024 + column);
            x[tile] = load<128>(x_in, row * 1024 + column);
          }
          const float mean = load(mean_in, row);
          const float r = load(r_in, row);
          RowReduction<Sum<float>, Shape, 1> a_sum_tree;
          RowReduction<Sum<float>, Shape, 1> b_sum_tree;
#pragma unroll
          for (int tile = 0; tile < 8; ++tile) {
            const int column = 4 * Shape::chunk(tile);
            Vector<float, 128> b_sum_tree_elements;
#pragma unroll
            for (int k = 0; k < 128; ++k) {
              const float c = x[tile][k] - mean;
              const float n = c * r;
              const float q = g[tile][k] * n;
              gw[tile][k] = g[tile][k] * weight[tile][k];
              const float p = gw[tile][k] * n;
              b_sum_tree_elements[k] = p;
              dweight_tree.add(128 * tile + k, q, 0);
            }
            a_sum_tree.add_vector(tile, gw[tile], 0, 128);
            b_sum_tree.add_vector(tile, b_sum_tree_elements, 0, 128);
          }
          a_sum_tree.finish_part(0, exchange);
          b_sum_tree.finish_part(0, exchange);
          const float a_sum = a_sum_tree.finish(exchange).result();
          const float b_sum = b_sum_tree.finish(exchange).result();
          const float a = a_sum * 0.0009765625f;
          const float b = b_sum * 0.0009765625f;
#pragma unroll
          for (int tile = 0; tile < 8; ++tile) {
            const int column = 4 * Shape::chunk(tile);
            Vector<float, 128> y;
#pragma unroll
            for (int k = 0; k < 128; ++k) {
              const float c = x[tile][k] - mean;
              const float n = c * r;
              const float u_ = gw[tile][k] - a;
              const float t = n * b;
              const float k_ = u_ - t;
              y[k] = k_ * r;
            }
            store<128>(y_out, row * 1024 + column, y);
          }
        }
      }
    }
    dweight_tree.finish(turn);
  }
  auto* dweight_tree_splits = reinterpret_cast<Neighbours<Sum<float>, 4>*>(workspace);
#pragma unroll
  for (int tile = 0; tile < 8; ++tile) {
    const int column = 4 * Shape::chunk(tile);
#pragma unroll
    for (int k = 0; k < 128; k += 4) {
      store_workspace(dweight_tree_splits, static_cast<int>(blockIdx.x) * 256 + (column + k) / 4, dweight_tree.neighbours<4>(128 * tile + k));
    }
  }
  if (!last_block(tickets + group, 8)) return;
#pragma unroll 1
  for (int at = static_cast<int>(threadIdx.x); at < 256; at += 1) {
    const int place = group * 256 + at;
    store_workspace(dweight_tree_splits, place, join_column<8>(dweight_tree_splits + place, 2048));
  }
  if (!last_block(tickets + 8, 8)) return;
#pragma unroll 1
  for (int at = static_cast<int>(threadIdx.x); at < 256; at += 1) {
    const auto dweight_tree_joined = join_column<8>(dweight_tree_splits + at, 256);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int column = at * 4 + k;
      const float dweight = dweight_tree_joined.states[k].result();
      store(dweight_out, column, dweight);
    }
  }
}

