// The OpSyntax of composites, grouped by the header that declares them.
#pragma once

#include "ir/parser/op_syntax.h"

namespace sinter {

// Attributes that several groups use.
inline constexpr AttributeInfo kAxis = {
    .name = "axis", .kind = AttributeKind::integer, .default_text = "-1"};
inline constexpr AttributeInfo kAxisOrAll = {
    .name = "axis", .kind = AttributeKind::integer, .default_text = kAbsent};
inline constexpr AttributeInfo kAxes = {
    .name = "axes", .kind = AttributeKind::integers, .default_text = "[]"};
inline constexpr AttributeInfo kKeep = {
    .name = "keep", .kind = AttributeKind::boolean, .default_text = "false"};

std::vector<OpSyntax> view_op_syntax();  // sinter/views.h
std::vector<OpSyntax> nn_op_syntax();    // sinter/nn.h
std::vector<OpSyntax> library_op_syntax();  // sinter/library_ops.h
std::vector<OpSyntax> collective_op_syntax();  // sinter/collectives.h

}  // namespace sinter
