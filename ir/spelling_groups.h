// The spellings of functions written in ops, by the header that declares them.
#pragma once

#include "ir/spelling.h"

namespace sinter {

std::vector<Spelling> view_spellings();  // sinter/views.h
std::vector<Spelling> nn_spellings();    // sinter/nn.h

}  // namespace sinter
