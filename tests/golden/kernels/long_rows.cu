
// sinter kernel long_rows_0 · row_reduce · threads 512, vector 4, 512 per row, 1 rows per block, clusters of 2 blocks, 8 groups, resident
//   max_1 = max x {axes = [1], keep = true} : f32[512, 1]
//   sub_2 = sub x, max_1 : f32[512, 65536]
//   exp_3 = exp sub_2 : f32[512, 65536]
//   sum_4 = sum exp_3 {axes = [1], keep = true} : f32[512, 1]
//   y = div exp_3, sum_4 : f32[512, 65536]
// reads 134217728 bytes, writes 134217728
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel long_rows_0
extern "C" __global__ void __launch_bounds__(512)
long_rows_0(const float* __restrict__ x_in,
            float* __restrict__ y_out) {
  wait_for_prior_launches();
  using Shape = RowShape<512, 8, 512, 4, 2>;
  Exchange exchange = {shared_memory(), 2048, 0};
  Exchange cluster = {shared_memory() + 4096, 16, 0};
  cluster_arrive_relaxed();  // this block has started
  const int first_column = 4 * (Shape::group_of_cluster() * 1024 + Shape::chunk(0));
  const int row = static_cast<int>(blockIdx.x) / 2;
  Vector<float, 4> x[16];
  Vector<float, 4> exp_3[16];
  RowReduction<Max<float>, Shape, 1> max_1_tree;
#pragma unroll
  for (int tile = 0; tile < 16; ++tile) {
    const int column = first_column + 256 * tile;
    x[tile] = load<4>(x_in, row * 65536 + column);
  }
#pragma unroll
  for (int tile = 0; tile < 16; ++tile) {
    const int column = first_column + 256 * tile;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      max_1_tree.add(tile, k, x[tile][k], 0);
    }
  }
  max_1_tree.finish_part(0, exchange);
  cluster_wait();  // all blocks of the cluster have started
  const float max_1 = max_1_tree.finish(exchange, cluster).result();
  RowReduction<Sum<float>, Shape, 1> sum_4_tree;
#pragma unroll
  for (int tile = 0; tile < 16; ++tile) {
    const int column = first_column + 256 * tile;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float sub_2 = x[tile][k] - max_1;
      exp_3[tile][k] = expf(sub_2);
      sum_4_tree.add(tile, k, exp_3[tile][k], 0);
    }
  }
  sum_4_tree.finish_part(0, exchange);
  const float sum_4 = sum_4_tree.finish(exchange, cluster).result();
#pragma unroll
  for (int tile = 0; tile < 16; ++tile) {
    const int column = first_column + 256 * tile;
    const Vector<float, 4> y = quotients(exp_3[tile], sum_4);
    store<4>(y_out, row * 65536 + column, y);
  }
}
// grid 1024, shared 4128, reads 134217728, writes 134217728
