
// sinter kernel embedding_gradient_0 · scatter · threads 256, vector 1
//   wide = cast gradient {to = f32} : f32[2048, 64]
//   cast_2 = cast tokens {to = i64} : i64[2048]
//   lt_3 = lt cast_2, 0 : bool[2048]
//   add_4 = add cast_2, 512 : i64[2048]
//   where_5 = where lt_3, add_4, cast_2 : i64[2048]
//   maximum_6 = maximum where_5, 0 : i64[2048]
//   minimum_7 = minimum maximum_6, 511 : i64[2048]
//   maximum_8 = maximum wide, -1.0 : f32[2048, 64]
//   clipped = minimum maximum_8, 1.0 : f32[2048, 64]
//   summed = scatter table, minimum_7, clipped {accumulate = true} : f32[512, 64]
// reads at most 540672 bytes, writes at most 262144
// reproduce: sinter dump FILE --stage source --arch sm_90 --kernel embedding_gradient_0
extern "C" __global__ void __launch_bounds__(256)
embedding_gradient_0(const float* __restrict__ table_in,
                     const int* __restrict__ tokens_in,
                     const bf16* __restrict__ gradient_in,
                     float* __restrict__ summed_out) {
  wait_for_prior_launches();
  const int first_row = static_cast<int>(blockIdx.x) * 1;
  const int owned_rows = minimum(int(1), 512 - first_row);
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = 256;
  for (int element = thread; element < owned_rows * 64; element += threads) {
    const int column = element % 64;
    const int row = first_row + element / 64;
    const float table = load(table_in, row * 64 + column);
    store(summed_out, row * 64 + column, table);
  }
  unsigned* marks = reinterpret_cast<unsigned*>(shared_memory());
  for (int start = 0; start < 2048; start += 32 * threads) {
    unsigned mark = 0;
    for (int bit = 0; bit < 32; ++bit) {
      const int along = start + thread * 32 + bit;
      if (along < 2048) {
        const int tokens = load(tokens_in, along);
        const long long cast_2 = static_cast<long long>(tokens);
        const bool lt_3 = cast_2 < 0ll;
        const long long add_4 = wrapping_add(cast_2, 512ll);
        const long long where_5 = lt_3 ? add_4 : cast_2;
        const long long maximum_6 = maximum(where_5, 0ll);
        const long long minimum_7 = minimum(maximum_6, 511ll);
        const long long place = static_cast<long long>(minimum_7) - first_row;
        if (place >= 0 && place < owned_rows) mark |= 1u << bit;
      }
    }
    marks[thread] = mark;
    block_barrier();
    for (int marker = 0; marker < threads; ++marker) {
      for (unsigned left = marks[marker]; left != 0; left &= left - 1) {
        const int along = start + marker * 32 + lowest_one_of(left);
        const int tokens = load(tokens_in, along);
        const long long cast_2 = static_cast<long long>(tokens);
        const bool lt_3 = cast_2 < 0ll;
        const long long add_4 = wrapping_add(cast_2, 512ll);
        const long long where_5 = lt_3 ? add_4 : cast_2;
        const long long maximum_6 = maximum(where_5, 0ll);
        const long long minimum_7 = minimum(maximum_6, 511ll);
        const int row = static_cast<int>(minimum_7);
        const int begin = (row - first_row) * 64 % threads;
        for (int column = thread >= begin ? thread - begin : thread - begin + threads; column < 64; column += threads) {
          const float gradient = to_float(load(gradient_in, column + along * 64));
          const float wide = gradient;
          const float maximum_8 = maximum(wide, (-1.0f));
          const float clipped = minimum(maximum_8, 1.0f);
          store(summed_out, row * 64 + column, load(summed_out, row * 64 + column) + clipped);
        }
      }
    }
  }
}
// grid 512, shared 1024, reads 540672, writes 262144
