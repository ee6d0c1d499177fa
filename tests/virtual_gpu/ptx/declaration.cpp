// Declarations of variables, parameters and registers (PTX ISA 5.1 to 5.4, 7.1).
#include "tests/virtual_gpu/ptx/declaration.h"

#include <array>
#include <bit>
#include <memory>
#include <string>

#include "tests/virtual_gpu/ptx/constant.h"

namespace sinter::virtual_gpu::ptx {
namespace {

struct Type {
  std::string_view directive;
  int bytes;
};
/// PTX ISA 5.2.1. Alternate formats such as bf16 are no types of declarations.
constexpr std::array kTypes = {
    Type{".b32", 4},   Type{".b64", 8},   Type{".f32", 4}, Type{".b16", 2}, Type{".b8", 1},
    Type{".u32", 4},   Type{".u64", 8},   Type{".u16", 2}, Type{".u8", 1},  Type{".s32", 4},
    Type{".s64", 8},   Type{".s16", 2},   Type{".s8", 1},  Type{".f64", 8}, Type{".f16", 2},
    Type{".b128", 16}, Type{".f16x2", 4},
};

/// Limits of the interpreter, so that a damaged text does not exhaust the memory of the host.
constexpr std::int64_t kLargestVariable = std::int64_t{1} << 40;
constexpr std::int64_t kLargestAlignment = std::int64_t{1} << 20;
constexpr std::int64_t kMostRegisters = 1'000'000;
constexpr std::size_t kMostDimensions = 8;

Type take_type(Lexer& lexer) {
  const Token token = lexer.expect(TokenKind::directive, "a type");
  for (const Type& type : kTypes) {
    if (type.directive == token.text) return type;
  }
  fail(token, "the interpreter does not know this type");
}

Token take_declared_name(Lexer& lexer) {
  const Token token = lexer.expect(TokenKind::word, "a name");
  if (!is_identifier(token.text)) fail(token, "this is no identifier");
  return token;
}

int take_alignment(Lexer& lexer) {
  const Token token = lexer.peek();
  const std::int64_t alignment = take_integer(lexer, 1, kLargestAlignment);
  if (!std::has_single_bit(static_cast<std::uint64_t>(alignment)))
    fail(token, "the alignment must be a power of two");
  return static_cast<int>(alignment);
}

/// The part of a declaration that its names share.
struct Head {
  Space space;
  Type type;
  int alignment = 0;      ///< 0: no `.align`
  int vector_length = 1;  ///< of `.v2` or `.v4`
  bool is_extern = false;
};

Head take_head(Lexer& lexer, bool is_extern) {
  const Token token = lexer.expect(TokenKind::directive, "a state space");
  const std::optional<Space> space = space_of(token);
  if (!space) fail(token, "expected a state space");
  Head head{.space = *space, .type = {}, .is_extern = is_extern};
  if (lexer.accept(".align")) head.alignment = take_alignment(lexer);
  if (lexer.accept(".v2")) head.vector_length = 2;
  if (lexer.accept(".v4")) head.vector_length = 4;
  head.type = take_type(lexer);
  return head;
}

Dimensions take_dimensions(Lexer& lexer) {
  Dimensions dimensions;
  while (lexer.peek().is('[')) {
    if (dimensions.size() == kMostDimensions)
      fail(lexer.peek(), "the array has too many dimensions");
    lexer.take();
    const bool is_open = dimensions.empty() && lexer.peek().is(']');
    dimensions.push_back(is_open ? 0 : take_integer(lexer, 1, kLargestVariable));
    lexer.expect(']');
  }
  return dimensions;
}

std::int64_t element_count(const Dimensions& dimensions, const Variable& variable,
                           const Token& token) {
  std::int64_t count = 1;
  for (const std::int64_t extent : dimensions) {
    if (extent > kLargestVariable / variable.element_bytes / count)
      fail(token, "the variable is too large");
    if (extent) count *= extent;
  }
  const bool is_open = !dimensions.empty() && dimensions.front() == 0;
  return is_open ? 0 : count;
}

void check_initializer(const Variable& variable, const Token& token) {
  if (variable.is_extern) fail(token, "an external variable has no initialiser");
  if (variable.space != Space::global && variable.space != Space::constant)
    fail(token, "only .global and .const variables have initialisers");
}

/// Takes the name, the dimensions and the initialiser.
Declaration take_declarator(Lexer& lexer, const Head& head) {
  const Token token = take_declared_name(lexer);
  Variable variable{
      .space = head.space,
      .name = token.text,
      .type = head.type.directive.substr(1),
      .element_bytes = head.type.bytes,
      .alignment = head.alignment ? head.alignment : head.type.bytes * head.vector_length,
      .is_extern = head.is_extern,
      .line = token.line};
  Dimensions dimensions = take_dimensions(lexer);
  if (head.vector_length > 1) dimensions.push_back(head.vector_length);
  variable.elements = element_count(dimensions, variable, token);
  if (lexer.accept('=')) {
    check_initializer(variable, token);
    variable.bytes = take_initializer(lexer, variable, dimensions);
    variable.elements = element_count(dimensions, variable, token);
  }
  if (variable.elements == 0 && !head.is_extern) fail(token, "the array needs a size");
  return {.variable = std::move(variable), .token = token};
}

/// `.ptr [.space] [.align n]` of a kernel parameter (PTX ISA 5.1.6.3) describes the memory behind
/// the pointer, not the parameter.
void skip_pointer_attribute(Lexer& lexer) {
  if (!lexer.accept(".ptr")) return;
  constexpr std::array<std::string_view, 5> kSpaces = {".global", ".const", ".local", ".shared",
                                                       ".param"};
  for (const std::string_view space : kSpaces) {
    if (lexer.accept(space)) break;
  }
  if (lexer.accept(".align")) take_alignment(lexer);
}

Variable take_parameter(Lexer& lexer, Scopes& scopes) {
  if (!lexer.accept(".param"))
    fail(lexer.peek(), "expected `.param`; the interpreter knows no other parameters");
  Head head{.space = Space::param, .type = {}};
  if (lexer.accept(".align")) head.alignment = take_alignment(lexer);
  head.type = take_type(lexer);
  skip_pointer_attribute(lexer);
  Declaration declaration = take_declarator(lexer, head);
  declaration.variable.name = scopes.declare(declaration.variable.name, declaration.token);
  return std::move(declaration.variable);
}

/// `name<count>`: the registers name0 to name(count-1) (PTX ISA 5.4.6). One string has all names.
void add_range(const Token& name, std::string_view type, std::int64_t count, Scopes& scopes,
               Module& module, std::vector<Register>& registers) {
  std::string names;
  std::vector<std::size_t> ends;
  for (std::int64_t i = 0; i < count; ++i) {
    names.append(name.text).append(std::to_string(i));
    ends.push_back(names.size());
  }
  module.made_names.push_back(std::make_unique<const std::string>(std::move(names)));
  const std::string_view all = *module.made_names.back();
  registers.reserve(registers.size() + ends.size());
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    const std::string_view text = all.substr(begin, end - begin);
    registers.push_back({.name = scopes.declare(text, name), .type = type});
    begin = end;
  }
}

}  // namespace

std::optional<Space> space_of(const Token& token) {
  if (token.kind != TokenKind::directive) return std::nullopt;
  if (token.text == ".global") return Space::global;
  if (token.text == ".const") return Space::constant;
  if (token.text == ".shared") return Space::shared;
  if (token.text == ".local") return Space::local;
  if (token.text == ".param") return Space::param;
  return std::nullopt;
}

std::vector<Declaration> take_variables(Lexer& lexer, bool is_extern) {
  const Head head = take_head(lexer, is_extern);
  std::vector<Declaration> declarations;
  do {
    declarations.push_back(take_declarator(lexer, head));
  } while (lexer.accept(','));
  lexer.expect(';');
  return declarations;
}

std::vector<Variable> take_parameters(Lexer& lexer, Scopes& scopes) {
  std::vector<Variable> parameters;
  lexer.expect('(');
  if (lexer.accept(')')) return parameters;
  do {
    parameters.push_back(take_parameter(lexer, scopes));
  } while (lexer.accept(','));
  lexer.expect(')');
  return parameters;
}

void take_registers(Lexer& lexer, Scopes& scopes, Module& module,
                    std::vector<Register>& registers) {
  if (!lexer.accept(".reg")) fail(lexer.peek(), "expected `.reg`");
  const std::string_view type =
      lexer.accept(".pred") ? "pred" : take_type(lexer).directive.substr(1);
  do {
    const Token name = take_declared_name(lexer);
    if (lexer.accept('<')) {
      const std::int64_t count = take_integer(lexer, 1, kMostRegisters);
      lexer.expect('>');
      add_range(name, type, count, scopes, module, registers);
    } else {
      registers.push_back({.name = scopes.declare(name.text, name), .type = type});
    }
  } while (lexer.accept(','));
  lexer.expect(';');
}

}  // namespace sinter::virtual_gpu::ptx
