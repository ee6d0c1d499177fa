// The body of a function: its declarations, labels and instructions.
#pragma once

#include "tests/virtual_gpu/ptx/lexer.h"
#include "tests/virtual_gpu/ptx/module.h"
#include "tests/virtual_gpu/ptx/scopes.h"

namespace sinter::virtual_gpu::ptx {

/// Takes `operands ;` behind the opcode. Its `parts` are those of the opcode.
Instruction take_instruction(Lexer& lexer, const Token& opcode);

/// Takes `{ … }` and fills the function. Its parameters are declared in the scopes.
void take_body(Lexer& lexer, Scopes& scopes, Module& module, Function& function);

}  // namespace sinter::virtual_gpu::ptx
