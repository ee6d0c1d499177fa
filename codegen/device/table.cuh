// Reads tables in device memory: the arrays and sizes of sections that run the same code.
#pragma once

/// The last of `rows` rows of `columns` values whose first value is at most `block`. The first
/// value of a row is the index of its first block, in ascending order.
__device__ __forceinline__ const unsigned long long* table_row(
    const unsigned long long* __restrict__ table, int rows, int columns, long long block) {
  int low = 0;
  int high = rows;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (static_cast<long long>(table[static_cast<long long>(middle) * columns]) <= block)
      low = middle;
    else
      high = middle;
  }
  return table + static_cast<long long>(low) * columns;
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
