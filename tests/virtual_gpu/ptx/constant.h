// Constants: the values of literals and of simple constant expressions (PTX ISA 4.5).
#pragma once

#include <cstdint>

#include "tests/virtual_gpu/ptx/lexer.h"

namespace sinter::virtual_gpu::ptx {

struct Constant {
  std::uint64_t bits = 0;  ///< an integer in two's complement, or the bits of the float
  int float_bytes = 0;     ///< 0: an integer; 4: `0f…`; 8: `0d…` and decimal floats
  Token token = {};        ///< the first one, for messages
};

/// The value of a literal: decimal, `0x`, `0b`, octal, each with an optional `U`; `0f`, `0d`, or a
/// decimal float, which has 64 bits (PTX ISA 4.5.2). Throws PtxError on all other tokens.
Constant literal(const Token& token);

/// True if a constant expression may begin with the token.
bool begins_constant(const Token& token);

/// Takes a constant expression: literals and `WARP_SZ` with `+`, `-`, `*`, `~` and parentheses, in
/// 64 bits. Floats allow a minus sign only. Further operators of PTX ISA 4.5.4 are errors.
Constant take_constant(Lexer& lexer);
/// The same; an integer in the range is required: otherwise throws PtxError.
std::int64_t take_integer(Lexer& lexer, std::int64_t lowest, std::int64_t highest);

/// The bits of a float constant, converted to a float of 4 or 8 bytes with rounding to nearest
/// even.
std::uint64_t float_bits(const Constant& constant, int bytes);

}  // namespace sinter::virtual_gpu::ptx
