// The statements of a function (PTX ISA 4.3, 7.1, 11.3).
#include "tests/virtual_gpu/ptx/body.h"

#include <string>

#include "tests/virtual_gpu/ptx/declaration.h"
#include "tests/virtual_gpu/ptx/directive.h"

namespace sinter::virtual_gpu::ptx {
namespace {

class Body {
 public:
  Body(Lexer& lexer, Scopes& scopes, Module& module, Function& function)
      : lexer_(lexer), scopes_(scopes), module_(module), function_(function) {}

  void take() {
    lexer_.expect('{');
    while (take_statement()) continue;
    scopes_.bind_labels();
  }

 private:
  /// False behind the end of the body.
  bool take_statement() {
    const Token& token = lexer_.peek();
    if (token.is('}')) {
      lexer_.take();
      return scopes_.close();
    }
    if (token.is('{')) {
      scopes_.open(lexer_.take());
    } else if (token.is('@')) {
      take_guarded_instruction();
    } else if (token.kind == TokenKind::directive) {
      take_directive();
    } else if (token.kind == TokenKind::word) {
      take_label_or_instruction();
    } else if (!lexer_.accept(';')) {
      fail(token, "expected a statement of " + std::string(function_.name));
    }
    return true;
  }

  void take_directive() {
    if (skip_annotation(lexer_)) return;
    if (lexer_.peek().text == ".reg")
      return take_registers(lexer_, scopes_, module_, function_.registers);
    const bool is_extern = lexer_.accept(".extern");
    if (!space_of(lexer_.peek())) fail_directive(lexer_.peek(), "in a function");
    for (Declaration& declaration : take_variables(lexer_, is_extern)) {
      declaration.variable.name = scopes_.declare(declaration.variable.name, declaration.token);
      function_.variables.push_back(std::move(declaration.variable));
    }
  }

  void take_guarded_instruction() {
    lexer_.expect('@');
    const bool is_negated = lexer_.accept('!');
    std::string_view guard = lexer_.expect(TokenKind::word, "a predicate").text;
    const Token opcode = lexer_.expect(TokenKind::word, "an opcode");
    Instruction instruction = take_instruction(lexer_, opcode);
    instruction.guard = guard;
    instruction.guard_is_negated = is_negated;
    add(std::move(instruction));
  }

  void take_label_or_instruction() {
    const Token token = lexer_.take();
    if (!lexer_.accept(':')) return add(take_instruction(lexer_, token));
    if (!is_identifier(token.text)) fail(token, "this is no identifier");
    const std::string_view name = scopes_.declare_label(token.text, token);
    if (lexer_.accept(".branchtargets")) return take_branch_table(name);
    function_.labels.emplace(name, function_.instructions.size());
  }

  /// `name: .branchtargets L1, L2;` (PTX ISA 11.3.1)
  void take_branch_table(std::string_view name) {
    std::vector<std::string_view>& targets = function_.branch_tables[name];
    do {
      targets.push_back(lexer_.expect(TokenKind::word, "a label").text);
    } while (lexer_.accept(','));
    lexer_.expect(';');
    for (std::string_view& target : targets) scopes_.bind(target);
  }

  void add(Instruction instruction) {
    function_.instructions.push_back(std::move(instruction));
    if (!scopes_.is_nested()) return;
    Instruction& added = function_.instructions.back();
    if (!added.guard.empty()) added.guard = scopes_.identity(added.guard);
    // The operands keep their addresses, since the vector of instructions moves them as a whole.
    for (Operand& operand : added.operands) {
      scopes_.bind(operand.name);
      scopes_.bind(operand.second);
      for (Operand& element : operand.elements) scopes_.bind(element.name);
    }
  }

  Lexer& lexer_;
  Scopes& scopes_;
  Module& module_;
  Function& function_;
};

}  // namespace

void take_body(Lexer& lexer, Scopes& scopes, Module& module, Function& function) {
  Body(lexer, scopes, module, function).take();
}

}  // namespace sinter::virtual_gpu::ptx
