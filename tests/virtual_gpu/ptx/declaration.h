// Declarations: variables with their initialisers, parameters, and registers.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tests/virtual_gpu/ptx/lexer.h"
#include "tests/virtual_gpu/ptx/module.h"
#include "tests/virtual_gpu/ptx/scopes.h"

namespace sinter::virtual_gpu::ptx {

/// The state space that the directive names, such as `.const`; nullopt for all other tokens.
std::optional<Space> space_of(const Token& token);

/// A declared variable and the token of its name.
struct Declaration {
  Variable variable;
  Token token;
};

/// Takes `.space [.align n] [.v2|.v4] .type name[n] [= values] {, name…} ;` (PTX ISA 5.4). The name
/// of a variable is that of the text.
std::vector<Declaration> take_variables(Lexer& lexer, bool is_extern);

/// Takes `( .param … , … )`, parameters or results of a function, and declares them.
std::vector<Variable> take_parameters(Lexer& lexer, Scopes& scopes);

/// Takes `.reg .type name, name<count> ;` and appends the registers.
void take_registers(Lexer& lexer, Scopes& scopes, Module& module, std::vector<Register>& registers);

/// The element count of each dimension; 0 for an open first one. A vector is the last dimension.
using Dimensions = std::vector<std::int64_t>;

/// Takes the values behind `=` and returns the bytes of the variable; bytes without a value are 0.
/// An open first dimension gets its size. (PTX ISA 5.4.4)
std::vector<std::byte> take_initializer(Lexer& lexer, const Variable& variable,
                                        Dimensions& dimensions);

}  // namespace sinter::virtual_gpu::ptx
