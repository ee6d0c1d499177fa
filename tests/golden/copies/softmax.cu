// sinter kernel softmax_0 · row_reduce · threads 128, vector 4, unroll 21, 32 per row, 4 rows per block, resident, 2 stages of bulk copies
//   max_1 = max x {axes = [1], keep = true} : f32[rows, 1]
//   sub_2 = sub x, max_1 : f32[rows, 1024]
//   exp_3 = exp sub_2 : f32[rows, 1024]
//   sum_4 = sum exp_3 {axes = [1], keep = true} : f32[rows, 1]
//   y = div exp_3, sum_4 : f32[rows, 1024]
// reads rows * 4096 bytes, writes rows * 4096
// reproduce: sinter dump FILE --stage source --arch sm_90 --size rows=N --kernel softmax_0
extern "C" __global__ void __launch_bounds__(128)
softmax_0(const float* __restrict__ x_in,
          float* __restrict__ y_out,
          const int rows) {
  wait_for_prior_launches();
  using Shape = RowShape<32, 1, 256, 4>;
  Exchange exchange = {shared_memory(), 0, 0};
  const int first_column = 4 * Shape::chunk(0);
  const int start = static_cast<int>(blockIdx.x) * 84;
  const int turns = minimum(int(21), (rows - start + 3) / 4);
  float* const x_tile = reinterpret_cast<float*>(shared_memory());
  const BulkCopies<2> copies(shared_memory() + 32768);
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    if (u < turns) {
      if (copies.issues()) {
        const int row = start + u * 4;
        const int rows_copied = static_cast<int>(minimum(int(4), rows - row));
        copies.expect(u, rows_copied * 4096);
        copies.copy(u, x_tile + u % 2 * 4096, x_in + (row * 1024), rows_copied * 1024);
      }
    }
  }
#pragma unroll 1
  for (int u = 0; u < turns; ++u) {
    const int wanted_row = start + u * 4 + static_cast<int>(threadIdx.x) / Shape::kThreads;
    const bool live = wanted_row <= rows - 1;
    const int row = live ? wanted_row : rows - 1;
    const int slot = u % 2 * 4096 + (row - (start + u * 4)) * 1024;
    copies.await(u);
    Vector<float, 4> x[8];
    Vector<float, 4> exp_3[8];
#pragma unroll
    for (int tile = 0; tile < 8; ++tile) {
      const int column = first_column + 128 * tile;
      x[tile] = load<4>(x_tile, slot + column);
    }
    if (u + 2 < turns) {
      copies.release();
      if (copies.issues()) {
        const int row = start + (u + 2) * 4;
        const int rows_copied = static_cast<int>(minimum(int(4), rows - row));
        copies.expect(u + 2, rows_copied * 4096);
        copies.copy(u + 2, x_tile + u % 2 * 4096, x_in + (row * 1024), rows_copied * 1024);
      }
    }
    RowReduction<Max<float>, Shape, 1> max_1_tree;
#pragma unroll
    for (int tile = 0; tile < 8; ++tile) {
      const int column = first_column + 128 * tile;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        max_1_tree.add(tile, k, x[tile][k], 0);
      }
    }
    max_1_tree.finish_part(0, exchange);
    const float max_1 = max_1_tree.finish(exchange).result();
    RowReduction<Sum<float>, Shape, 1> sum_4_tree;
#pragma unroll
    for (int tile = 0; tile < 8; ++tile) {
      const int column = first_column + 128 * tile;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float sub_2 = x[tile][k] - max_1;
        exp_3[tile][k] = expf(sub_2);
        sum_4_tree.add(tile, k, exp_3[tile][k], 0);
      }
    }
    sum_4_tree.finish_part(0, exchange);
    const float sum_4 = sum_4_tree.finish(exchange).result();
#pragma unroll
    for (int tile = 0; tile < 8; ++tile) {
      const int column = first_column + 128 * tile;
      if (live) {
        Vector<float, 4> y;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          y[k] = exp_3[tile][k] / sum_4;
        }
        store<4>(y_out, row * 1024 + column, y);
      }
    }
  }
}

// sinter kernel softmax_0 · row_reduce · threads 128, vector 4, unroll 21, 32 per row, 4 rows per block, resident, 2 stages of asynchronous copies
//   max_1 = max x {axes = [1], keep = true} : f32[rows, 1]
//   sub_2 = sub x, max_1 : f32[rows, 1024]
//   exp_3 = exp sub_2 : f32[rows, 1024]
//   sum_4 = sum exp_3 {axes = [1], keep = true} : f32[rows, 1]
//   y = div exp_3, sum_4 : f32[rows, 1024]
// reads rows * 4096 bytes, writes rows * 4096
// reproduce: sinter dump FILE --stage source --arch sm_90 --size rows=N --kernel softmax_0
extern "C" __global__ void __launch_bounds__(128)
softmax_0(const float* __restrict__ x_in,
          float* __restrict__ y_out,
          const int rows) {
  wait_for_prior_launches();
  using Shape = RowShape<32, 1, 256, 4>;
  Exchange exchange = {shared_memory(), 0, 0};
  const int first_column = 4 * Shape::chunk(0);
  const int start = static_cast<int>(blockIdx.x) * 84;
  const int turns = minimum(int(21), (rows - start + 3) / 4);
  float* const x_tile = reinterpret_cast<float*>(shared_memory());
  const ThreadCopies<2> copies;
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    if (u < turns) {
      const int wanted_row = start + u * 4 + static_cast<int>(threadIdx.x) / Shape::kThreads;
      const bool live = wanted_row <= rows - 1;
      const int row = live ? wanted_row : rows - 1;
      const int slot = u % 2 * 4096 + static_cast<int>(threadIdx.x) / Shape::kThreads * 1024;
#pragma unroll
      for (int tile = 0; tile < 8; ++tile) {
        const int column = first_column + 128 * tile;
        copies.copy<4>(x_tile + slot + column, x_in + (row * 1024 + column));
      }
    }
    copies.commit();
  }
#pragma unroll 1
  for (int u = 0; u < turns; ++u) {
    const int wanted_row = start + u * 4 + static_cast<int>(threadIdx.x) / Shape::kThreads;
    const bool live = wanted_row <= rows - 1;
    const int row = live ? wanted_row : rows - 1;
    const int slot = u % 2 * 4096 + static_cast<int>(threadIdx.x) / Shape::kThreads * 1024;
    copies.await();
    Vector<float, 4> x[8];
    Vector<float, 4> exp_3[8];
#pragma unroll
    for (int tile = 0; tile < 8; ++tile) {
      const int column = first_column + 128 * tile;
      x[tile] = load<4>(x_tile, slot + column);
    }
    if (u + 2 < turns) {
      const int wanted_row = start + (u + 2) * 4 + static_cast<int>(threadIdx.x) / Shape::kThreads;
      const bool live = wanted_row <= rows - 1;
      const int row = live ? wanted_row : rows - 1;
      const int slot = u % 2 * 4096 + static_cast<int>(threadIdx.x) / Shape::kThreads * 1024;
#pragma unroll
      for (int tile = 0; tile < 8; ++tile) {
        const int column = first_column + 128 * tile;
        copies.copy<4>(x_tile + slot + column, x_in + (row * 1024 + column));
      }
    }
    copies.commit();
    RowReduction<Max<float>, Shape, 1> max_1_tree;
#pragma unroll
    for (int tile = 0; tile < 8; ++tile) {
      const int column = first_column + 128 * tile;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        max_1_tree.add(tile, k, x[tile][k], 0);
      }
    }
    max_1_tree.finish_part(0, exchange);
    const float max_1 = max_1_tree.finish(exchange).result();
    RowReduction<Sum<float>, Shape, 1> sum_4_tree;
#pragma unroll
    for (int tile = 0; tile < 8; ++tile) {
      const int column = first_column + 128 * tile;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float sub_2 = x[tile][k] - max_1;
        exp_3[tile][k] = expf(sub_2);
        sum_4_tree.add(tile, k, exp_3[tile][k], 0);
      }
    }
    sum_4_tree.finish_part(0, exchange);
    const float sum_4 = sum_4_tree.finish(exchange).result();
#pragma unroll
    for (int tile = 0; tile < 8; ++tile) {
      const int column = first_column + 128 * tile;
      if (live) {
        Vector<float, 4> y;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          y[k] = exp_3[tile][k] / sum_4;
        }
        store<4>(y_out, row * 1024 + column, y);
      }
    }
  }
}

