// sinter kernel momentum_0 · pointwise · threads 256, vector 4, unroll 16, 2 stages of bulk copies
//   h = cast g {to = f32} : f32[n]
//   a = mul v, 0.9 : f32[n]
//   b = add a, h : f32[n]
//   c = mul b, 0.01 : f32[n]
//   d = sub w, c : f32[n]
// reads n * 10 bytes, writes n * 8
// reproduce: sinter dump FILE --stage source --arch sm_90 --size n=N --kernel momentum_0
extern "C" __global__ void __launch_bounds__(256)
momentum_0(const bf16* __restrict__ g_in,
           float* w_io,
           float* v_io,
           const int n) {
  wait_for_prior_launches();
  const int start = static_cast<int>(blockIdx.x) * 16384;
  const int place = static_cast<int>(threadIdx.x) * 4;
  const int whole = minimum(int(16), (n - start) / 1024);
  float* const v_tile = reinterpret_cast<float*>(shared_memory());
  bf16* const g_tile = reinterpret_cast<bf16*>(shared_memory() + 8192);
  float* const w_tile = reinterpret_cast<float*>(shared_memory() + 12288);
  const BulkCopies<2> copies(shared_memory() + 20480);
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    if (u < whole) {
      if (copies.issues()) {
        copies.expect(u, 10240);
        copies.copy(u, v_tile + u % 2 * 1024, v_io + (start + u * 1024), 1024);
        copies.copy(u, g_tile + u % 2 * 1024, g_in + (start + u * 1024), 1024);
        copies.copy(u, w_tile + u % 2 * 1024, w_io + (start + u * 1024), 1024);
      }
    }
  }
#pragma unroll 1
  for (int u = 0; u < 16; ++u) {
    Vector<float, 4> v_ahead[1];
    Vector<bf16, 4> g_ahead[1];
    Vector<float, 4> w_ahead[1];
    const int first = start + u * 1024 + place;
    if (u < whole) {
      copies.await(u);
      v_ahead[0] = load<4>(v_tile, u % 2 * 1024 + place);
      g_ahead[0] = load<4>(g_tile, u % 2 * 1024 + place);
      w_ahead[0] = load<4>(w_tile, u % 2 * 1024 + place);
    }
    else if (first < n) {
      const int count = minimum(int(4), n - first);
      v_ahead[0] = load_some<4>(v_io, first, count);
      g_ahead[0] = load_some<4>(g_in, first, count);
      w_ahead[0] = load_some<4>(w_io, first, count);
    }
    if (u + 2 < whole) {
      copies.release();
      if (copies.issues()) {
        copies.expect(u + 2, 10240);
        copies.copy(u + 2, v_tile + u % 2 * 1024, v_io + (start + (u + 2) * 1024), 1024);
        copies.copy(u + 2, g_tile + u % 2 * 1024, g_in + (start + (u + 2) * 1024), 1024);
        copies.copy(u + 2, w_tile + u % 2 * 1024, w_io + (start + (u + 2) * 1024), 1024);
      }
    }
    if (first < n) {
      const int count = minimum(int(4), n - first);
      const Vector<float, 4> v = v_ahead[0];
      const Vector<bf16, 4> g = g_ahead[0];
      const Vector<float, 4> w = w_ahead[0];
      Vector<float, 4> v_2;
      Vector<float, 4> w_2;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float a = v[k] * 0.9f;
        const float h = to_float(g[k]);
        const float b = a + h;
        const float c = b * 0.01f;
        v_2[k] = b;
        w_2[k] = w[k] - c;
      }
      store_some<4>(v_io, first, v_2, count);
      store_some<4>(w_io, first, w_2, count);
    }
  }
}

// sinter kernel momentum_0 · pointwise · threads 256, vector 4, unroll 2, 2 stages of bulk copies
//   h = cast g {to = f32} : f32[n]
//   a = mul v, 0.9 : f32[n]
//   b = add a, h : f32[n]
//   c = mul b, 0.01 : f32[n]
//   d = sub w, c : f32[n]
// reads n * 10 bytes, writes n * 8
// reproduce: sinter dump FILE --stage source --arch sm_90 --size n=N --kernel momentum_0
extern "C" __global__ void __launch_bounds__(256)
momentum_0(const bf16* __restrict__ g_in,
           float* w_io,
           float* v_io,
           const int n) {
  wait_for_prior_launches();
  const int start = static_cast<int>(blockIdx.x) * 2048;
  const int place = static_cast<int>(threadIdx.x) * 4;
  const int whole = minimum(int(2), (n - start) / 1024);
  float* const v_tile = reinterpret_cast<float*>(shared_memory());
  bf16* const g_tile = reinterpret_cast<bf16*>(shared_memory() + 8192);
  float* const w_tile = reinterpret_cast<float*>(shared_memory() + 12288);
  const BulkCopies<2> copies(shared_memory() + 20480);
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    if (u < whole) {
      if (copies.issues()) {
        copies.expect(u, 10240);
        copies.copy(u, v_tile + u * 1024, v_io + (start + u * 1024), 1024);
        copies.copy(u, g_tile + u * 1024, g_in + (start + u * 1024), 1024);
        copies.copy(u, w_tile + u * 1024, w_io + (start + u * 1024), 1024);
      }
    }
  }
#pragma unroll 1
  for (int u = 0; u < 2; ++u) {
    Vector<float, 4> v_ahead[1];
    Vector<bf16, 4> g_ahead[1];
    Vector<float, 4> w_ahead[1];
    const int first = start + u * 1024 + place;
    if (u < whole) {
      copies.await(u);
      v_ahead[0] = load<4>(v_tile, u * 1024 + place);
      g_ahead[0] = load<4>(g_tile, u * 1024 + place);
      w_ahead[0] = load<4>(w_tile, u * 1024 + place);
    }
    else if (first < n) {
      const int count = minimum(int(4), n - first);
      v_ahead[0] = load_some<4>(v_io, first, count);
      g_ahead[0] = load_some<4>(g_in, first, count);
      w_ahead[0] = load_some<4>(w_io, first, count);
    }
    if (first < n) {
      const int count = minimum(int(4), n - first);
      const Vector<float, 4> v = v_ahead[0];
      const Vector<bf16, 4> g = g_ahead[0];
      const Vector<float, 4> w = w_ahead[0];
      Vector<float, 4> v_2;
      Vector<float, 4> w_2;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float a = v[k] * 0.9f;
        const float h = to_float(g[k]);
        const float b = a + h;
        const float c = b * 0.01f;
        v_2[k] = b;
        w_2[k] = w[k] - c;
      }
      store_some<4>(v_io, first, v_2, count);
      store_some<4>(w_io, first, w_2, count);
    }
  }
}

// sinter kernel momentum_0 · pointwise · threads 256, vector 4, unroll 16, 2 stages of asynchronous copies
//   h = cast g {to = f32} : f32[n]
//   a = mul v, 0.9 : f32[n]
//   b = add a, h : f32[n]
//   c = mul b, 0.01 : f32[n]
//   d = sub w, c : f32[n]
// reads n * 10 bytes, writes n * 8
// reproduce: sinter dump FILE --stage source --arch sm_90 --size n=N --kernel momentum_0
extern "C" __global__ void __launch_bounds__(256)
momentum_0(const bf16* __restrict__ g_in,
           float* w_io,
           float* v_io,
           const int n) {
  wait_for_prior_launches();
  const int start = static_cast<int>(blockIdx.x) * 16384;
  const int place = static_cast<int>(threadIdx.x) * 4;
  const int whole = minimum(int(16), (n - start) / 1024);
  float* const v_tile = reinterpret_cast<float*>(shared_memory());
  bf16* const g_tile = reinterpret_cast<bf16*>(shared_memory() + 8192);
  float* const w_tile = reinterpret_cast<float*>(shared_memory() + 12288);
  const ThreadCopies<2> copies;
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    if (u < whole) {
      copies.copy<4>(v_tile + u % 2 * 1024 + place, v_io + (start + u * 1024 + place));
      copies.copy<4>(g_tile + u % 2 * 1024 + place, g_in + (start + u * 1024 + place));
      copies.copy<4>(w_tile + u % 2 * 1024 + place, w_io + (start + u * 1024 + place));
    }
    copies.commit();
  }
#pragma unroll 1
  for (int u = 0; u < 16; ++u) {
    Vector<float, 4> v_ahead[1];
    Vector<bf16, 4> g_ahead[1];
    Vector<float, 4> w_ahead[1];
    const int first = start + u * 1024 + place;
    if (u < whole) {
      copies.await();
      v_ahead[0] = load<4>(v_tile, u % 2 * 1024 + place);
      g_ahead[0] = load<4>(g_tile, u % 2 * 1024 + place);
      w_ahead[0] = load<4>(w_tile, u % 2 * 1024 + place);
    }
    else if (first < n) {
      const int count = minimum(int(4), n - first);
      v_ahead[0] = load_some<4>(v_io, first, count);
      g_ahead[0] = load_some<4>(g_in, first, count);
      w_ahead[0] = load_some<4>(w_io, first, count);
    }
    if (u + 2 < whole) {
      copies.copy<4>(v_tile + u % 2 * 1024 + place, v_io + (start + (u + 2) * 1024 + place));
      copies.copy<4>(g_tile + u % 2 * 1024 + place, g_in + (start + (u + 2) * 1024 + place));
      copies.copy<4>(w_tile + u % 2 * 1024 + place, w_io + (start + (u + 2) * 1024 + place));
    }
    copies.commit();
    if (first < n) {
      const int count = minimum(int(4), n - first);
      const Vector<float, 4> v = v_ahead[0];
      const Vector<bf16, 4> g = g_ahead[0];
      const Vector<float, 4> w = w_ahead[0];
      Vector<float, 4> v_2;
      Vector<float, 4> w_2;
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const float a = v[k] * 0.9f;
        const float h = to_float(g[k]);
        const float b = a + h;
        const float c = b * 0.01f;
        v_2[k] = b;
        w_2[k] = w[k] - c;
      }
      store_some<4>(v_io, first, v_2, count);
      store_some<4>(w_io, first, w_2, count);
    }
  }
}

