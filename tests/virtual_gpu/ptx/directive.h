// Directives that declare nothing: debug lines and pragmas, which are skipped, and performance
// directives.
#pragma once

#include "tests/virtual_gpu/ptx/lexer.h"
#include "tests/virtual_gpu/ptx/module.h"

namespace sinter::virtual_gpu::ptx {

/// Takes a `.loc`, `.file`, `.section` (PTX ISA 11.5) or `.pragma` (11.4) if one is next. They
/// change no result.
bool skip_annotation(Lexer& lexer);

/// Takes a performance or cluster directive (PTX ISA 11.4, 11.7) if one is next, and records it.
bool take_performance_directive(Lexer& lexer, Function& function);

/// Throws PtxError: the token has no meaning at the place, such as `in a module`.
[[noreturn]] void fail_directive(const Token& token, std::string_view place);

}  // namespace sinter::virtual_gpu::ptx
