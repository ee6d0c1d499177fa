// The head of a .npy file: what NumPy writes before the elements.
#pragma once

#include "sinter/dtype.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::command {

struct NpyHeader {
  std::string descr;  ///< NumPy's word for the dtype: `<f4`
  bool is_fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Every .npy file begins so; two bytes for its version follow.
inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

/// Reads the dictionary `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`. Throws
/// UserError that says what is wrong in it, to follow the name of the file.
NpyHeader parse_npy_header(std::string_view dictionary);

/// Magic, version 1.0 and the dictionary of a row-major array, filled up to a multiple of 64 bytes.
std::string npy_head(DType dtype, std::span<const std::int64_t> shape);

/// The word that is written for a dtype. NumPy has none for bf16 and the f8 types: their bits go as
/// those of raw types, `<V2` and `|V1`, as ml_dtypes writes them.
std::string_view npy_descr(DType dtype);

/// What NumPy converts to, as Python: `'<f4'`, `ml_dtypes.bfloat16`. To convert to the raw types
/// that stand for the latter would lose all elements.
std::string numpy_dtype(DType dtype);

/// True if elements of `descr` can be taken as `dtype`: the bits of bf16 and the f8 types may come
/// as raw or as unsigned integers, too.
bool is_npy_descr_of(std::string_view descr, DType dtype);

}  // namespace sinter::command
