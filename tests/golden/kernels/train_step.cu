// train_step_0_0 | train_step_0_1: max_4 reduces 10 elements and logits reduces 64
// train_step_0_1 | train_step_0_2: new has 640 elements, the kernel has 256 rows of 10
// train_step_0_0 | train_step_0_2: both read x: merging them would create a cycle through a third kernel

// sinter kernel train_step_0 · 3 kernels in 3 phases · threads 128
// reads at most 162816 bytes, writes 24068
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel train_step_0

// phase 0: row_reduce · threads 128, vector 4, 8 per row, 16 rows per block
//   p = mul x3, w : f32[256, 10, 64]
//   logits = sum p {axes = [2], keep = false} : f32[256, 10]
// reads 68096 bytes, writes 10240
static __device__ __forceinline__ void
train_step_0_0(const float* __restrict__ x_in,
               const float* w_in,
               float* logits_out,
               const int block) {
  using Shape = RowShape<8, 1, 16, 4>;
  Exchange exchange = {shared_memory(), 0, 0};
  const int row = block * 16 + static_cast<int>(threadIdx.x) / Shape::kThreads;
  const int row_1 = row % 10;
  const int row_0 = row / 10;
  RowReduction<Sum<float>, Shape, 1> logits_tree;
#pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    const int column = 4 * Shape::chunk(tile);
    const Vector<float, 4> x = load<4>(x_in, row_0 * 64 + column);
    const Vector<float, 4> w = load<4>(w_in, row_1 * 64 + column);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float p = x[k] * w[k];
      logits_tree.add(tile, k, p, 0);
    }
  }
  logits_tree.finish_part(0, exchange);
  const float logits = logits_tree.finish(exchange).result();
  if (Shape::thread() == 0) {
    store(logits_out, row_0 * 10 + row_1, logits);
  }
}

// phase 1: row_reduce · threads 128, vector 4, 4 per row, 32 rows per block, resident
//   max_4 = max logits {axes = [1], keep = true} : f32[256, 1]
//   sub_8 = sub logits, max_4 : f32[256, 10]
//   exp_9 = exp sub_8 : f32[256, 10]
//   sum_10 = sum exp_9 {axes = [1], keep = true} : f32[256, 1]
//   log_11 = log sum_10 : f32[256, 1]
//   lp = sub sub_8, log_11 : f32[256, 10]
//   picked = take_along_axis lp, at {axis = 1} : f32[256, 1]
//   nll = neg picked : f32[256, 1]
//   loss_sum = sum nll {axes = [0, 1], keep = false} : f32[]
//   loss = mul loss_sum, 0.00390625 : f32[]
// reads at most 14336 bytes, writes 11268
static __device__ __forceinline__ void
train_step_0_1(const long long* __restrict__ label_in,
               const float* logits_in,
               float* __restrict__ loss_out,
               float* lp_out,
               unsigned* __restrict__ tickets,
               unsigned char* __restrict__ workspace,
               const int block) {
  using Shape = RowShape<4, 1, 4, 4>;
  Exchange exchange = {shared_memory(), 512, 0};
  const int first_column = 4 * Shape::chunk(0);
  const int row = block * 32 + static_cast<int>(threadIdx.x) / Shape::kThreads;
  Vector<float, 4> logits[1];
  const long long label = load(label_in, row);
  const float logits_2 = load(logits_in, row * 10 + wrapped_index<int>(label, 10));
  RowReduction<Max<float>, Shape, 1> max_4_tree;
#pragma unroll
  for (int tile = 0; tile < 1; ++tile) {
    const int column = first_column;
    if (Shape::chunk(tile) < 3) {
      const int count = minimum(int(4), 10 - column);
      logits[tile] = load_by<4, 2>(logits_in, row * 10 + column, count);
    }
  }
#pragma unroll
  for (int tile = 0; tile < 1; ++tile) {
    const int column = first_column;
    if (Shape::chunk(tile) < 3) {
      const int count = minimum(int(4), 10 - column);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        if (k < count) max_4_tree.add(tile, k, logits[tile][k], 0);
      }
    }
  }
  max_4_tree.finish_part(0, exchange);
  const float max_4 = max_4_tree.finish(exchange).result();
  const float sub_8 = logits_2 - max_4;
  RowReduction<Sum<float>, Shape, 1> sum_10_tree;
#pragma unroll
  for (int tile = 0; tile < 1; ++tile) {
    const int column = first_column;
    if (Shape::chunk(tile) < 3) {
      const int count = minimum(int(4), 10 - column);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float sub_8_2 = logits[tile][k] - max_4;
        const float exp_9 = expf(sub_8_2);
        if (k < count) sum_10_tree.add(tile, k, exp_9, 0);
      }
    }
  }
  sum_10_tree.finish_part(0, exchange);
  const float sum_10 = sum_10_tree.finish(exchange).result();
  const float log_11 = logf(sum_10);
  const float lp = sub_8 - log_11;
  const float nll = -lp;
#pragma unroll
  for (int tile = 0; tile < 1; ++tile) {
    const int column = first_column;
    if (Shape::chunk(tile) < 3) {
      const int count = minimum(int(4), 10 - column);
      Vector<float, 4> lp_2;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float sub_8_2 = logits[tile][k] - max_4;
        lp_2[k] = sub_8_2 - log_11;
      }
      store_by<4, 2>(lp_out, row * 10 + column, lp_2, count);
    }
  }
  float* loss_sum_of_rows = reinterpret_cast<float*>(workspace);
  if (Shape::thread() == 0) {
    store_workspace(loss_sum_of_rows, row, nll);
  }
  if (!last_block(tickets, 8)) return;
  using Rows = RowShape<64, 1, 64, 4>;
  RowReduction<Sum<float>, Rows, 1> loss_sum_tree;
#pragma unroll 1
  for (int part = 0; part < 1; ++part) {
#pragma unroll 1
    for (int step = 0; step * 64 < 64; step += 1) {
#pragma unroll
      for (int i = 0; i < 1; ++i) {
        const int chunk = Rows::chunk(step + i);
        const int at = 4 * ((part * 1 + Rows::group()) * (64) + chunk);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          if (chunk < 64 && at + k < 256) loss_sum_tree.add(i, k, load_workspace(loss_sum_of_rows, at + k), at + k);
        }
      }
    }
    loss_sum_tree.finish_part(part, exchange);
  }
  const float loss_sum = loss_sum_tree.finish(exchange).result();
  const float loss = loss_sum * 0.00390625f;
  if (threadIdx.x == 0) {
    store(loss_out, 0, loss);
  }
}

// phase 2: column_reduce · threads 128, vector 4, 64 per row, 2 rows per block
//   hit = eq class, at : bool[256, 10]
//   onehot = cast hit {to = f32} : f32[256, 10]
//   prob = exp lp : f32[256, 10]
//   g = sub prob, onehot : f32[256, 10]
//   gx = mul g3, x3 : f32[256, 10, 64]
//   dw_sum = sum gx {axes = [0], keep = false} : f32[10, 64]
//   dw = mul dw_sum, 0.00390625 : f32[10, 64]
//   step = mul dw, lr : f32[10, 64]
//   new = sub w, step : f32[10, 64]
// reads 80384 bytes, writes 2560
static __device__ __forceinline__ void
train_step_0_2(const float* __restrict__ x_in,
               const long long* __restrict__ label_in,
               const float* lp_in,
               float* w_io,
               const float lr,
               const int block) {
  using Shape = ColumnShape<2, 64, 1, 64, 4>;
  Exchange exchange = {shared_memory(), 1024, 0};
  const int outer = block / 8;
  const int column = (block % 8) * 8 + Shape::column() * 4;
  const Vector<float, 4> w = load<4>(w_io, outer * 64 + column);
  const long long class_ = static_cast<long long>(outer);
  ColumnReduction<Sum<float>, Shape, 1> dw_sum_tree;
#pragma unroll 1
  for (int tile = 0; tile < 1; tile += 1) {
#pragma unroll
    for (int within = 0; within < 4; ++within) {
      const int along = 4 * Shape::chunk(tile) + within;
      const float lp = load(lp_in, outer + along * 10);
      const float prob = expf(lp);
      const long long label = load(label_in, along);
      const bool hit = class_ == label;
      const float onehot = static_cast<float>(hit);
      const float g = prob - onehot;
      const Vector<float, 4> x = load<4>(x_in, column + along * 64);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float gx = g * x[k];
        dw_sum_tree.add(k, gx, 0);
      }
    }
  }
  dw_sum_tree.finish_accumulator(0);
  dw_sum_tree.finish_part(0, exchange);
  Sum<float> dw_sum_tree_states[4];
  dw_sum_tree.finish<false>(dw_sum_tree_states, exchange);
  Vector<float, 4> dw_sum;
#pragma unroll
  for (int k = 0; k < 4; ++k) dw_sum[k] = dw_sum_tree_states[k].result();
  Vector<float, 4> dw;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float dw_2 = dw_sum[k] * 0.00390625f;
    dw[k] = dw_2;
  }
  Vector<float, 4> step_;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float step__2 = dw[k] * lr;
    step_[k] = step__2;
  }
  Vector<float, 4> new_;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float new__2 = w[k] - step_[k];
    new_[k] = new__2;
  }
  if (Shape::along() == 0) {
    Vector<float, 4> w_2;
#pragma unroll
    for (int k = 0; k < 4; ++k) w_2[k] = new_[k];
    store<4>(w_io, outer * 64 + column, w_2);
  }
}

extern "C" __global__ void __launch_bounds__(128)
train_step_0(unsigned* tickets,
             const float* __restrict__ x_in,
             float* w_in,
             float* logits_out,
             const long long* __restrict__ label_in,
             float* __restrict__ loss_out,
             float* lp_out,
             unsigned char* __restrict__ workspace,
             const float lr) {
  for (int block = static_cast<int>(blockIdx.x); block < 160; block += static_cast<int>(gridDim.x)) {
    train_step_0_0(x_in, w_in, logits_out, block);
  }
  grid_barrier(tickets);
  for (int block = static_cast<int>(blockIdx.x); block < 8; block += static_cast<int>(gridDim.x)) {
    if (block >= static_cast<int>(gridDim.x)) block_barrier();
    train_step_0_1(label_in, logits_out, loss_out, lp_out, tickets + 1, workspace, block);
  }
  grid_barrier(tickets);
  for (int block = static_cast<int>(blockIdx.x); block < 80; block += static_cast<int>(gridDim.x)) {
    if (block >= static_cast<int>(gridDim.x)) block_barrier();
    train_step_0_2(x_in, label_in, lp_out, w_in, lr, block);
  }
}
// grid 160, shared 2048, reads 162816, writes 24068
