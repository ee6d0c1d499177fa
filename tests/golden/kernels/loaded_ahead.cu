
// sinter kernel loaded_ahead_0 · row_reduce · threads 512, vector 4, unroll 8, 512 per row, 1 rows per block, 8 groups, resident in shared memory, 1 block per SM
//   max_1 = max x {axes = [1], keep = true} : f32[4096, 1]
//   sub_2 = sub x, max_1 : f32[4096, 50257]
//   exp_3 = exp sub_2 : f32[4096, 50257]
//   sum_4 = sum exp_3 {axes = [1], keep = true} : f32[4096, 1]
//   y = div exp_3, sum_4 : f32[4096, 50257]
// reads 823410688 bytes, writes 823410688
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel loaded_ahead_0
extern "C" __global__ void __launch_bounds__(512, 1)
loaded_ahead_0(const float* __restrict__ x_in,
               float* __restrict__ y_out) {
  wait_for_prior_launches();
  using Shape = RowShape<512, 8, 512, 4>;
  Exchange exchange = {shared_memory(), 2048, 0};
  const int row = static_cast<int>(blockIdx.x);
  Vector<float, 4>* const x_kept = reinterpret_cast<Vector<float, 4>*>(shared_memory() + 4096) + threadIdx.x;
  Vector<float, 4>* const exp_3_kept = reinterpret_cast<Vector<float, 4>*>(shared_memory() + 4096) + threadIdx.x;
  RowReduction<Max<float>, Shape, 1> max_1_tree;
#pragma unroll 1
  for (int step = 0; step < 24; step += 8) {
    Vector<float, 4> x_ahead[8];
#pragma unroll
    for (int in_wave = 0; in_wave < 8; ++in_wave) {
      const int i = in_wave;
      const int tile = step + i;
      const int column = 4 * (Shape::group() * 1571 + Shape::chunk(tile));
      x_ahead[in_wave] = load_apart<4>(x_in, row * 50257 + column, 1, 4);
    }
#pragma unroll
    for (int in_wave = 0; in_wave < 8; ++in_wave) {
      const int i = in_wave;
      const int tile = step + i;
      const int column = 4 * (Shape::group() * 1571 + Shape::chunk(tile));
      Vector<float, 4> x;
      x = x_ahead[in_wave];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        max_1_tree.add(i, k, x[k], 0);
      }
      x_kept[tile * 512] = x;
    }
  }
  {
    Vector<float, 4> x_ahead[1];
#pragma unroll
    for (int in_wave = 0; in_wave < 1; ++in_wave) {
      const int i = in_wave;
      const int tile = 24 + i;
      const int column = 4 * (Shape::group() * 1571 + Shape::chunk(tile));
      if (tile < 24 || (Shape::chunk(tile) < 1571 && column < 50257)) {
        const int count = tile < 24 ? int(4) : minimum(int(4), 50257 - column);
        x_ahead[in_wave] = load_apart<4>(x_in, row * 50257 + column, 1, count);
      }
    }
#pragma unroll
    for (int in_wave = 0; in_wave < 1; ++in_wave) {
      const int i = in_wave;
      const int tile = 24 + i;
      const int column = 4 * (Shape::group() * 1571 + Shape::chunk(tile));
      if (tile < 24 || (Shape::chunk(tile) < 1571 && column < 50257)) {
        const int count = tile < 24 ? int(4) : minimum(int(4), 50257 - column);
        Vector<float, 4> x;
        x = x_ahead[in_wave];
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          if (k < count) max_1_tree.add(i, k, x[k], 0);
        }
        x_kept[tile * 512] = x;
      }
    }
  }
  max_1_tree.finish_part(0, exchange);
  const float max_1 = max_1_tree.finish(exchange).result();
  RowReduction<Sum<float>, Shape, 1> sum_4_tree;
#pragma unroll 1
  for (int step = 0; step < 24; step += 8) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int tile = step + i;
      const int column = 4 * (Shape::group() * 1571 + Shape::chunk(tile));
      const Vector<float, 4> x = x_kept[tile * 512];
      Vector<float, 4> exp_3;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float sub_2 = x[k] - max_1;
        exp_3[k] = expf(sub_2);
        sum_4_tree.add(i, k, exp_3[k], 0);
      }
      exp_3_kept[tile * 512] = exp_3;
    }
  }
#pragma unroll
  for (int i = 0; i < 1; ++i) {
    const int tile = 24 + i;
    const int column = 4 * (Shape::group() * 1571 + Shape::chunk(tile));
    if (tile < 24 || (Shape::chunk(tile) < 1571 && column < 50257)) {
      const int count = tile < 24 ? int(4) : minimum(int(4), 50257 - column);
      const Vector<float, 4> x = x_kept[tile * 512];
      Vector<float, 4> exp_3;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float sub_2 = x[k] - max_1;
        exp_3[k] = expf(sub_2);
        if (k < count) sum_4_tree.add(i, k, exp_3[k], 0);
      }
      exp_3_kept[tile * 512] = exp_3;
    }
  }
  sum_4_tree.finish_part(0, exchange);
  const float sum_4 = sum_4_tree.finish(exchange).result();
#pragma unroll 1
  for (int step = 0; step < 24; step += 8) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int tile = step + i;
      const int column = 4 * (Shape::group() * 1571 + Shape::chunk(tile));
      const Vector<float, 4> exp_3 = exp_3_kept[tile * 512];
      Vector<float, 4> y;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        y[k] = exp_3[k] / sum_4;
      }
      store_apart<4>(y_out, row * 50257 + column, 1, y, 4);
    }
  }
#pragma unroll
  for (int i = 0; i < 1; ++i) {
    const int tile = 24 + i;
    const int column = 4 * (Shape::group() * 1571 + Shape::chunk(tile));
    if (tile < 24 || (Shape::chunk(tile) < 1571 && column < 50257)) {
      const int count = tile < 24 ? int(4) : minimum(int(4), 50257 - column);
      const Vector<float, 4> exp_3 = exp_3_kept[tile * 512];
      const Vector<float, 4> y = quotients(exp_3, sum_4);
      store_apart<4>(y_out, row * 50257 + column, 1, y, count);
    }
  }
}
// grid 4096, shared 208896, reads 823410688, writes 823410688
