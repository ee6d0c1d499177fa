
// sinter kernel full_sum_0 · full_reduce · threads 256, vector 4, 256 per row, 1 rows per block, split, 8 blocks per SM
//   q = mul x, x : f32[16777216]
//   s = sum q {axes = [0], keep = false} : f32[]
//   n = sqrt s : f32[]
// reads 67112960 bytes, writes 4100
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel full_sum_0
extern "C" __global__ void __launch_bounds__(256, 8)
full_sum_0(const float* __restrict__ x_in,
           float* __restrict__ n_out,
           unsigned* __restrict__ tickets,
           unsigned char* __restrict__ workspace) {
  wait_for_prior_launches();
  using Shape = RowShape<256, 1, 512, 4>;
  Exchange exchange = {shared_memory(), 1024, 0};
  const int part = static_cast<int>(blockIdx.x);
  RowReduction<Sum<float>, Shape, 1> s_tree;
#pragma unroll 1
  for (int step = 0; step < 16; step += 2) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int tile = step + i;
      const int column = 4 * (part * 4096 + Shape::chunk(tile));
      const Vector<float, 4> x = load<4>(x_in, column);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float q = x[k] * x[k];
        s_tree.add(i, k, q, 0);
      }
    }
  }
  s_tree.finish_part(0, exchange);
  Sum<float>* s_tree_parts = reinterpret_cast<Sum<float>*>(workspace);
  const Sum<float> s_tree_part = s_tree.finish(exchange);
  if (Shape::thread() == 0) store_workspace(s_tree_parts, part, s_tree_part);
  if (!last_block<true>(tickets, 1024)) return;
  const float s = join_parts<256>(s_tree_parts, 1024, exchange).result();
  const float n = sqrtf(s);
  if (Shape::thread() == 0) {
    store(n_out, 0, n);
  }
}
// grid 1024, shared 2048, reads 67112960, writes 4100
