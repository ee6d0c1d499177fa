// The spellings of functions written in ops, by the header that declares them.
#pragma once

#include "ir/parser/spelling.h"

namespace sinter {

// Attributes of functions of more than one group.
inline constexpr AttributeInfo kAxis = {
    .name = "axis", .kind = AttributeKind::integer, .default_text = "-1"};
inline constexpr AttributeInfo kAxes = {
    .name = "axes", .kind = AttributeKind::integers, .default_text = "[]"};
inline constexpr AttributeInfo kKeep = {
    .name = "keep", .kind = AttributeKind::boolean, .default_text = "false"};

std::vector<Spelling> view_spellings();  // sinter/views.h
std::vector<Spelling> nn_spellings();    // sinter/nn.h

}  // namespace sinter
