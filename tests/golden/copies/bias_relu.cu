// sinter kernel bias_relu_0 · pointwise · threads 256, vector 4, unroll 32, 4 stages of bulk copies
//   sum = add x, bias : f32[rows, 1024]
//   y = maximum sum, 0.0 : f32[rows, 1024]
// reads rows * 4096 + 4096 bytes, writes rows * 4096
// reproduce: sinter dump FILE --stage source --arch sm_90 --size rows=N --kernel bias_relu_0
extern "C" __global__ void __launch_bounds__(256)
bias_relu_0(const float* __restrict__ x_in,
            const float* __restrict__ bias_in,
            float* __restrict__ y_out,
            const int rows) {
  wait_for_prior_launches();
  const int start = static_cast<int>(blockIdx.x) * 32768;
  const int place = static_cast<int>(threadIdx.x) * 4;
  const int whole = minimum(int(32), ((rows * 1024) - start) / 1024);
  float* const x_tile = reinterpret_cast<float*>(shared_memory());
  const BulkCopies<4> copies(shared_memory() + 16384);
#pragma unroll
  for (int u = 0; u < 4; ++u) {
    if (u < whole) {
      if (copies.issues()) {
        copies.expect(u, 4096);
        copies.copy(u, x_tile + u % 4 * 1024, x_in + (start + u * 1024), 1024);
      }
    }
  }
#pragma unroll 1
  for (int u = 0; u < 32; ++u) {
    Vector<float, 4> x_ahead[1];
    const int first = start + u * 1024 + place;
    if (u < whole) {
      copies.await(u);
      x_ahead[0] = load<4>(x_tile, u % 4 * 1024 + place);
    }
    else if (first < rows * 1024) {
      const int column = first % 1024;
      const int row = first / 1024;
      x_ahead[0] = load<4>(x_in, row * 1024 + column);
    }
    if (u + 4 < whole) {
      copies.release();
      if (copies.issues()) {
        copies.expect(u + 4, 4096);
        copies.copy(u + 4, x_tile + u % 4 * 1024, x_in + (start + (u + 4) * 1024), 1024);
      }
    }
    if (first < rows * 1024) {
      const int column = first % 1024;
      const int row = first / 1024;
      const Vector<float, 4> x = x_ahead[0];
      const Vector<float, 4> bias = load<4>(bias_in, column);
      Vector<float, 4> y;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float sum = x[k] + bias[k];
        y[k] = maximum(sum, 0.0f);
      }
      store<4>(y_out, row * 1024 + column, y);
    }
  }
}

// sinter kernel bias_relu_0 · pointwise · threads 256, vector 4, unroll 4, 4 stages of bulk copies
//   sum = add x, bias : f32[rows, 1024]
//   y = maximum sum, 0.0 : f32[rows, 1024]
// reads rows * 4096 + 4096 bytes, writes rows * 4096
// reproduce: sinter dump FILE --stage source --arch sm_90 --size rows=N --kernel bias_relu_0
extern "C" __global__ void __launch_bounds__(256)
bias_relu_0(const float* __restrict__ x_in,
            const float* __restrict__ bias_in,
            float* __restrict__ y_out,
            const int rows) {
  wait_for_prior_launches();
  const int start = static_cast<int>(blockIdx.x) * 4096;
  const int place = static_cast<int>(threadIdx.x) * 4;
  const int whole = minimum(int(4), ((rows * 1024) - start) / 1024);
  float* const x_tile = reinterpret_cast<float*>(shared_memory());
  const BulkCopies<4> copies(shared_memory() + 16384);
#pragma unroll
  for (int u = 0; u < 4; ++u) {
    if (u < whole) {
      if (copies.issues()) {
        copies.expect(u, 4096);
        copies.copy(u, x_tile + u * 1024, x_in + (start + u * 1024), 1024);
      }
    }
  }
#pragma unroll 1
  for (int u = 0; u < 4; ++u) {
    Vector<float, 4> x_ahead[1];
    const int first = start + u * 1024 + place;
    if (u < whole) {
      copies.await(u);
      x_ahead[0] = load<4>(x_tile, u * 1024 + place);
    }
    else if (first < rows * 1024) {
      const int column = first % 1024;
      const int row = first / 1024;
      x_ahead[0] = load<4>(x_in, row * 1024 + column);
    }
    if (first < rows * 1024) {
      const int column = first % 1024;
      const int row = first / 1024;
      const Vector<float, 4> x = x_ahead[0];
      const Vector<float, 4> bias = load<4>(bias_in, column);
      Vector<float, 4> y;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float sum = x[k] + bias[k];
        y[k] = maximum(sum, 0.0f);
      }
      store<4>(y_out, row * 1024 + column, y);
    }
  }
}

// sinter kernel bias_relu_0 · pointwise · threads 256, vector 4, unroll 32, 4 stages of asynchronous copies
//   sum = add x, bias : f32[rows, 1024]
//   y = maximum sum, 0.0 : f32[rows, 1024]
// reads rows * 4096 + 4096 bytes, writes rows * 4096
// reproduce: sinter dump FILE --stage source --arch sm_90 --size rows=N --kernel bias_relu_0
extern "C" __global__ void __launch_bounds__(256)
bias_relu_0(const float* __restrict__ x_in,
            const float* __restrict__ bias_in,
            float* __restrict__ y_out,
            const int rows) {
  wait_for_prior_launches();
  const int start = static_cast<int>(blockIdx.x) * 32768;
  const int place = static_cast<int>(threadIdx.x) * 4;
  const int whole = minimum(int(32), ((rows * 1024) - start) / 1024);
  float* const x_tile = reinterpret_cast<float*>(shared_memory());
  const ThreadCopies<4> copies;
#pragma unroll
  for (int u = 0; u < 4; ++u) {
    if (u < whole) {
      copies.copy<4>(x_tile + u % 4 * 1024 + place, x_in + (start + u * 1024 + place));
    }
    copies.commit();
  }
#pragma unroll 1
  for (int u = 0; u < 32; ++u) {
    Vector<float, 4> x_ahead[1];
    const int first = start + u * 1024 + place;
    if (u < whole) {
      copies.await();
      x_ahead[0] = load<4>(x_tile, u % 4 * 1024 + place);
    }
    else if (first < rows * 1024) {
      const int column = first % 1024;
      const int row = first / 1024;
      x_ahead[0] = load<4>(x_in, row * 1024 + column);
    }
    if (u + 4 < whole) {
      copies.copy<4>(x_tile + u % 4 * 1024 + place, x_in + (start + (u + 4) * 1024 + place));
    }
    copies.commit();
    if (first < rows * 1024) {
      const int column = first % 1024;
      const int row = first / 1024;
      const Vector<float, 4> x = x_ahead[0];
      const Vector<float, 4> bias = load<4>(bias_in, column);
      Vector<float, 4> y;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float sum = x[k] + bias[k];
        y[k] = maximum(sum, 0.0f);
      }
      store<4>(y_out, row * 1024 + column, y);
    }
  }
}

