// Reads tables: the arrays and sizes of sections that run the same code. A table is in device
// memory, or it is a kernel parameter.
#pragma once

/// The values of a table that is a kernel parameter.
template <int N>
struct TableContents {
  unsigned long long values[N];
};
/// The type of that parameter.
#ifdef __CUDACC__
template <int N>
using TableValues = TableContents<N>;
#else
// Without a copy for each thread.
template <int N>
using TableValues = const TableContents<N>&;
#endif

/// The last of the `rows` rows of `columns` values, from value `begin` on, whose first value is at
/// most `block`. The first value of a row is the index of its first block, in ascending order.
// Indices of 64 bits would take more registers.
template <class Block>
__device__ __forceinline__ const unsigned long long* table_row(
    const unsigned long long* __restrict__ table, unsigned begin, unsigned rows, unsigned columns,
    Block block) {
  table += begin;
  unsigned low = 0;
  unsigned high = rows;
  while (high - low > 1) {
    const unsigned middle = (low + high) / 2;
    if (static_cast<Block>(table[middle * columns]) <= block)
      low = middle;
    else
      high = middle;
  }
  return table + low * columns;
}
// Inlined, so that the compiler reads the parameter where it is (`ld.param`).
template <int N, class Block>
__device__ __forceinline__ const unsigned long long* table_row(const TableContents<N>& table,
                                                               unsigned begin, unsigned rows,
                                                               unsigned columns, Block block) {
  return table_row(table.values, begin, rows, columns, block);
}

/// The value in a column, stored in the first of its 8 bytes.
template <class T>
struct TableValue {
  __device__ __forceinline__ static T at(const unsigned long long* row, int column) {
    return *reinterpret_cast<const T*>(row + column);
  }
};
template <class T>
struct TableValue<T*> {
  __device__ __forceinline__ static T* at(const unsigned long long* row, int column) {
    T* const pointer = reinterpret_cast<T*>(row[column]);
#ifdef __CUDACC__
    // The compiler knows that pointer parameters are in global memory, but not loaded pointers.
    __builtin_assume(__isGlobal(pointer));
#endif
    return pointer;
  }
};
template <class T>
__device__ __forceinline__ T table_value(const unsigned long long* row, int column) {
  return TableValue<T>::at(row, column);
}
