// find_combine: the functions of atomic read-modify-write operations.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sinter::virtual_gpu {

/// The new value of one element.
using Combine = std::uint64_t (*)(std::uint64_t old, std::uint64_t operand);

/// An operation on global and on shared memory. They differ for f32 only.
struct AtomicFunctions {
  Combine global = nullptr, shared = nullptr;
};

/// PTX ISA manual, sections 9.7.13.5 (atom) and 9.7.13.6 (red). `vector_length` is 1 for scalar
/// operations; `is_noftz` if the opcode has `.noftz`. nullopt if the manual has no such operation.
std::optional<AtomicFunctions> find_combine(std::string_view operation, std::string_view type,
                                            int vector_length, bool is_noftz);

}  // namespace sinter::virtual_gpu
