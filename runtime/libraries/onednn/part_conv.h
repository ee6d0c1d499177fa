// PartConv: the primitive of one part of a convolution, with copies between its layouts and those
// of the arrays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/libraries/onednn/conv_parts.h"
#include "runtime/libraries/onednn/onednn_objects.h"

namespace sinter {

/// The three arrays of a convolution.
enum class ConvRole : std::uint8_t { x, w, y };
inline constexpr ConvRole kConvRoles[] = {ConvRole::x, ConvRole::w, ConvRole::y};

/// The array that a convolution of `kind` computes.
constexpr ConvRole result_role(ConvKind kind) {
  if (kind == ConvKind::data_gradient) return ConvRole::x;
  return kind == ConvKind::weight_gradient ? ConvRole::w : ConvRole::y;
}

/// Immutable: threads run the same parts at once, each with memory of its own.
class PartConv {
 public:
  explicit PartConv(const OneDnn& library) : library_(library), operation_(library) {}
  /// For the parts of one band. False if oneDNN has no fast implementation. Call it once, and
  /// first, on one thread (OneDnnThread).
  bool prepare(const ConvParts& parts, const ConvProblem& part);

  /// Bytes of the array's part in the primitive's layout; 0 if it is the layout in memory.
  std::int64_t bytes(ConvRole role) const { return array(role).bytes; }
  /// True if both primitives take the array in one layout.
  bool has_layout_of(const PartConv& other, ConvRole role) const;
  std::int64_t result_bytes() const { return result_bytes_; }  ///< also if the layouts are equal
  std::int64_t scratchpad_bytes() const { return scratchpad_bytes_; }
  std::string implementation() const { return operation_.implementation(); }

  /// Copies a part of an operand into the primitive's layout.
  void import_part(ConvRole role, const float* array, void* part, void* scratchpad) const;
  /// Copies a part of the result back.
  void export_part(ConvRole role, void* part, float* array, void* scratchpad) const;
  /// Computes the result from the operands, all in the primitive's layouts.
  void run(void* x, void* w, void* y, void* scratchpad) const;

 private:
  struct PartArray {
    OneDnnLayout in_memory;
    dnnl::dnnl_any_memory_desc_t in_primitive;
    int argument;          ///< its number among the primitive's arguments
    std::int64_t bytes;    ///< 0 if the layouts are equal
    OneDnnOperation copy;  ///< into the layout of the primitive, or out of it for a result
  };
  const PartArray& array(ConvRole role) const { return arrays_[static_cast<std::size_t>(role)]; }
  OneDnnDescription describe(const ConvProblem& part) const;

  const OneDnn& library_;
  OneDnnOperation operation_;
  std::vector<PartArray> arrays_;
  std::int64_t result_bytes_ = 0;
  std::int64_t scratchpad_bytes_ = 0;
};

}  // namespace sinter
