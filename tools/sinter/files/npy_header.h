// The header of a .npy file.
#pragma once

#include "sinter/dtype.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::command {

struct NpyHeader {
  std::string descr;  ///< NumPy's name of the dtype: `<f4`
  bool is_fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// The first bytes of every .npy file, followed by two bytes for the version.
inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

/// Reads the dictionary `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`. Throws
/// UserError with the problem; the caller puts the name of the file in front.
NpyHeader parse_npy_header(std::string_view dictionary);

/// Magic, version 1.0 and the dictionary of a row-major array, padded to a multiple of 64 bytes.
std::string npy_head(DType dtype, std::span<const std::int64_t> shape);

/// The descr that is written for a dtype. NumPy has none for bf16 and the f8 types. Their bits are
/// written as the raw types `<V2` and `|V1`, like ml_dtypes does.
std::string_view npy_descr(DType dtype);

/// The Python argument of astype: `'<f4'`, `ml_dtypes.bfloat16`. A conversion to the raw type of
/// bf16 or f8 would lose all elements.
std::string numpy_dtype(DType dtype);

/// True if elements of `descr` can be read as `dtype`. The bits of bf16 and the f8 types may also
/// be stored as raw types or unsigned integers.
bool is_npy_descr_of(std::string_view descr, DType dtype);

}  // namespace sinter::command
