// The part of cuBLASLt that the example needs, opened at run time.
#pragma once

#include <cstdint>
#include <string>

namespace cublaslt {

/// Why cuBLASLt cannot be opened; empty if it can.
std::string why_missing();

/// Row-major matrices of bf16 in device memory.
struct Product {
  std::int64_t m, k, n;
  const void* x;
  const void* w;
  void* y;
  void* workspace;
  std::int64_t workspace_bytes;
  void* stream;
};
/// Enqueues y = x w on the stream. Returns cuBLASLt's status, 0 for success. Throws
/// std::runtime_error if cuBLASLt is missing.
int multiply(const Product& product);

}  // namespace cublaslt
