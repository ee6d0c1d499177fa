
// sinter kernel cluster_rows_0 · row_reduce · threads 512, vector 8, 512 per row, 1 rows per block, clusters of 8 blocks, 8 groups, resident
//   g = cast x {to = f32} : f32[4096, 262144]
//   m = max g {axes = [1], keep = true} : f32[4096, 1]
//   d = sub g, m : f32[4096, 262144]
//   e = exp d : f32[4096, 262144]
//   s = sum e {axes = [1], keep = true} : f32[4096, 1]
//   y = div e, s : f32[4096, 262144]
//   p = cast y {to = bf16} : bf16[4096, 262144]
// reads 2147483648 bytes, writes 2147500032
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel cluster_rows_0
extern "C" __global__ void __launch_bounds__(512)
cluster_rows_0(const bf16* __restrict__ x_in,
               bf16* __restrict__ p_out,
               float* __restrict__ s_out) {
  wait_for_prior_launches();
  using Shape = RowShape<512, 8, 512, 8, 8>;
  Exchange exchange = {shared_memory(), 4096, 0};
  Exchange cluster = {shared_memory() + 8192, 32, 0};
  cluster_arrive_relaxed();  // this block has started
  const int first_column = 4 * (Shape::group_of_cluster() * 1024 + Shape::chunk(0));
  const int row = static_cast<int>(blockIdx.x) / 8;
  Vector<bf16, 8> x[8];
  Vector<float, 8> e[8];
  RowReduction<Max<float>, Shape, 1> m_tree;
#pragma unroll
  for (int tile = 0; tile < 8; ++tile) {
    const int column = first_column + 512 * tile;
    x[tile] = load<8>(x_in, row * 262144 + column);
  }
#pragma unroll
  for (int tile = 0; tile < 8; ++tile) {
    const int column = first_column + 512 * tile;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const float g = to_float(x[tile][k]);
      m_tree.add(tile, k, g, 0);
    }
  }
  m_tree.finish_part(0, exchange);
  cluster_wait();  // all blocks of the cluster have started
  const float m = m_tree.finish(exchange, cluster).result();
  RowReduction<Sum<float>, Shape, 1> s_tree;
#pragma unroll
  for (int tile = 0; tile < 8; ++tile) {
    const int column = first_column + 512 * tile;
    convert_again(x[tile]);
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const float g = to_float(x[tile][k]);
      const float d = g - m;
      e[tile][k] = expf(d);
      s_tree.add(tile, k, e[tile][k], 0);
    }
  }
  s_tree.finish_part(0, exchange);
  const float s = s_tree.finish(exchange, cluster).result();
#pragma unroll
  for (int tile = 0; tile < 8; ++tile) {
    const int column = first_column + 512 * tile;
    const Vector<float, 8> y = quotients(e[tile], s);
    Vector<bf16, 8> p;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      p[k] = to_memory<bf16>(y[k]);
    }
    store<8>(p_out, row * 262144 + column, p);
  }
  if (cluster_rank() == 0 && Shape::thread() == 0) {
    store(s_out, row, s);
  }
}
// grid 32768, shared 8256, reads 2147483648, writes 2147500032
