#include "runtime/libraries/host/host_product.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "ir/support/round_up.h"
#include "runtime/libraries/host/panel_loops.h"
#include "runtime/libraries/host/worker_threads.h"
#include "sinter/error.h"

namespace sinter {

namespace {

constexpr std::int64_t kPanelAlignment = 256;
constexpr std::int64_t kPackedDepth = 256;  ///< of packed panels along k

/// How one product is divided. It depends on sizes alone, so that sums keep their order.
struct Tiling {
  std::int64_t rows = 1, columns = 1, depth = 1;
  std::int64_t row_tiles = 0, column_tiles = 0;
  bool packs_a = false, packs_b = false, copies_result = false;
  std::int64_t a_bytes = 0, b_bytes = 0, result_bytes = 0;

  std::int64_t tiles() const { return row_tiles * column_tiles; }
  std::int64_t bytes() const { return a_bytes + b_bytes + result_bytes; }
};

template <class T>
Tiling tiling_of(const HostProduct<T>& product, const HostBlas& blas) {
  constexpr bool kMayBeStored = !std::is_same_v<T, std::int16_t>;
  bool has_blas = false;
  if constexpr (kMayBeStored) has_blas = blas.has(static_cast<const T*>(nullptr));
  Tiling tiling{.packs_a = !product.stored_a || !has_blas,
                .packs_b = !product.stored_b || !has_blas,
                .copies_result = !product.stored_result};
  const bool packs = tiling.packs_a || tiling.packs_b || tiling.copies_result;
  // Large tiles, because each operand is packed once per tile. Packed panels stay in the L2 cache.
  const std::int64_t most = packs ? 512 : 1024;
  constexpr std::int64_t kEnoughTiles = 16, kSmallTile = 128, kStep = 16;
  tiling.rows = std::clamp<std::int64_t>(product.m, 1, most);
  tiling.columns = std::clamp<std::int64_t>(product.n, 1, most);
  const auto count = [&] {
    return divide_up(product.m, tiling.rows) * divide_up(product.n, tiling.columns);
  };
  while (count() * product.batches < kEnoughTiles &&
         std::max(tiling.rows, tiling.columns) > kSmallTile) {
    std::int64_t& larger = tiling.rows > tiling.columns ? tiling.rows : tiling.columns;
    larger = round_up<std::int64_t>(larger / 2, kStep);
  }
  tiling.row_tiles = divide_up(product.m, tiling.rows);
  tiling.column_tiles = divide_up(product.n, tiling.columns);
  const std::int64_t most_depth = tiling.packs_a || tiling.packs_b
                                      ? kPackedDepth
                                      : std::int64_t{std::numeric_limits<int>::max()};
  tiling.depth = std::clamp<std::int64_t>(product.k, 1, most_depth);
  const auto bytes = [](bool is_needed, std::int64_t elements, std::size_t size) {
    return is_needed ? round_up(elements * static_cast<std::int64_t>(size), kPanelAlignment) : 0;
  };
  using Sum = typename HostProduct<T>::Sum;
  tiling.a_bytes = bytes(tiling.packs_a, tiling.rows * tiling.depth, sizeof(T));
  tiling.b_bytes = bytes(tiling.packs_b, tiling.depth * tiling.columns, sizeof(T));
  tiling.result_bytes = bytes(tiling.copies_result, tiling.rows * tiling.columns, sizeof(Sum));
  return tiling;
}

/// Copies a panel of a stored matrix, for loops without a BLAS.
template <class T>
void pack_stored(const StoredMatrix<const T>& matrix, const Panel& panel, T* packed) {
  for (std::int64_t i = 0; i < panel.rows; ++i) {
    const T* const from = matrix.is_transposed
                              ? matrix.data + panel.column * matrix.stride + panel.row + i
                              : matrix.data + (panel.row + i) * matrix.stride + panel.column;
    const std::int64_t step = matrix.is_transposed ? matrix.stride : 1;
    for (std::int64_t j = 0; j < panel.columns; ++j) packed[i * panel.columns + j] = from[j * step];
  }
}

template <class T>
const T* first_of(const StoredMatrix<const T>& matrix, std::int64_t row, std::int64_t column) {
  return matrix.is_transposed ? matrix.data + column * matrix.stride + row
                              : matrix.data + row * matrix.stride + column;
}

/// The memory of one thread.
template <class T>
struct ThreadPanels {
  T* a = nullptr;
  T* b = nullptr;
  typename HostProduct<T>::Sum* result = nullptr;
};

template <class T>
ThreadPanels<T> panels_of(const Tiling& tiling, const HostWorkspace& workspace, int worker) {
  std::byte* const begin = static_cast<std::byte*>(workspace.data) + worker * tiling.bytes();
  return {.a = reinterpret_cast<T*>(begin),
          .b = reinterpret_cast<T*>(begin + tiling.a_bytes),
          .result = reinterpret_cast<typename HostProduct<T>::Sum*>(begin + tiling.a_bytes +
                                                                    tiling.b_bytes)};
}

/// Makes an operand's panel ready, and returns where it is.
template <class T>
StoredMatrix<const T> operand(const std::function<StoredMatrix<const T>(std::int64_t)>& stored,
                              const std::function<void(const Panel&, T*)>& pack, bool packs,
                              bool transposes, const Panel& panel, T* memory) {
  if (!packs) {
    StoredMatrix<const T> matrix = stored(panel.batch);
    matrix.data = first_of(matrix, panel.row, panel.column);
    return matrix;
  }
  if (pack)
    pack(panel, memory);
  else
    pack_stored(stored(panel.batch), panel, memory);
  return {.data = memory,
          .stride = transposes ? panel.rows : panel.columns,
          .is_transposed = transposes};
}

template <class T>
void multiply_tile(const HostProduct<T>& product, const Tiling& tiling, const HostBlas& blas,
                   const ThreadPanels<T>& panels, const Panel& tile) {
  using Sum = typename HostProduct<T>::Sum;
  StoredMatrix<Sum> result{.data = panels.result, .stride = tile.columns};
  if (!tiling.copies_result) {
    result = product.stored_result(tile.batch);
    result.data += tile.row * result.stride + tile.column;
  }
  if (product.k == 0)
    for (std::int64_t i = 0; i < tile.rows; ++i)
      std::fill_n(result.data + i * result.stride, tile.columns, Sum(0));
  for (std::int64_t k = 0; k < product.k; k += tiling.depth) {
    const std::int64_t depth = std::min(tiling.depth, product.k - k);
    const auto a = operand<T>(product.stored_a, product.pack_a, tiling.packs_a, false,
                              {tile.batch, tile.row, tile.rows, k, depth}, panels.a);
    const auto b =
        operand<T>(product.stored_b, product.pack_b, tiling.packs_b, HostProduct<T>::kTransposesB,
                   {tile.batch, k, depth, tile.column, tile.columns}, panels.b);
    if constexpr (!std::is_same_v<T, std::int16_t>)
      if (blas.has(a.data)) {
        blas.multiply(BlasProduct<T>{.m = tile.rows,
                                     .n = tile.columns,
                                     .k = depth,
                                     .a = a.data,
                                     .b = b.data,
                                     .c = result.data,
                                     .a_stride = a.stride,
                                     .b_stride = b.stride,
                                     .c_stride = result.stride,
                                     .transpose_a = a.is_transposed,
                                     .transpose_b = b.is_transposed,
                                     .adds = k > 0});
        continue;
      }
    multiply_panels(
        {.m = tile.rows, .n = tile.columns, .k = depth, .c_stride = result.stride, .adds = k > 0},
        a.data, b.data, result.data);
  }
  if (tiling.copies_result) product.store(tile, result.data);
}

}  // namespace

template <class T>
std::int64_t workspace_bytes(const HostProduct<T>& product, const HostBlas& blas) {
  const Tiling tiling = tiling_of(product, blas);
  return tiling.bytes() *
         std::min<std::int64_t>(most_workers(),
                                std::max<std::int64_t>(1, tiling.tiles() * product.batches));
}

template <class T>
void multiply(const HostProduct<T>& product, const HostBlas& blas, const HostWorkspace& workspace) {
  const Tiling tiling = tiling_of(product, blas);
  const std::int64_t room = tiling.bytes() == 0 ? most_workers() : workspace.bytes / tiling.bytes();
  ensure(room > 0, "the workspace of a product holds no panels");
  // Threads cost more than they save on less work than this.
  constexpr std::int64_t kSmallWork = std::int64_t{1} << 18;
  const std::int64_t work =
      product.batches * product.m * product.n * std::max<std::int64_t>(product.k, 1);
  const auto workers = static_cast<int>(work < kSmallWork ? 1 : std::min<std::int64_t>(room, 256));
  run_jobs(product.batches * tiling.tiles(), workers, [&](int worker, std::int64_t job) {
    const std::int64_t tile = job % tiling.tiles();
    const std::int64_t row = tile / tiling.column_tiles * tiling.rows;
    const std::int64_t column = tile % tiling.column_tiles * tiling.columns;
    multiply_tile(product, tiling, blas, panels_of<T>(tiling, workspace, worker),
                  {.batch = job / tiling.tiles(),
                   .row = row,
                   .rows = std::min(tiling.rows, product.m - row),
                   .column = column,
                   .columns = std::min(tiling.columns, product.n - column)});
  });
}

template std::int64_t workspace_bytes(const HostProduct<float>&, const HostBlas&);
template std::int64_t workspace_bytes(const HostProduct<double>&, const HostBlas&);
template std::int64_t workspace_bytes(const HostProduct<std::int16_t>&, const HostBlas&);
template void multiply(const HostProduct<float>&, const HostBlas&, const HostWorkspace&);
template void multiply(const HostProduct<double>&, const HostBlas&, const HostWorkspace&);
template void multiply(const HostProduct<std::int16_t>&, const HostBlas&, const HostWorkspace&);

}  // namespace sinter
