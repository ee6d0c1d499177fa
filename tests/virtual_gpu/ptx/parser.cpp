// The statements of a module: its version and target, variables and functions (PTX ISA 11.1, 11.2,
// 11.6).
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <unordered_map>

#include "tests/virtual_gpu/ptx/body.h"
#include "tests/virtual_gpu/ptx/constant.h"
#include "tests/virtual_gpu/ptx/declaration.h"
#include "tests/virtual_gpu/ptx/directive.h"
#include "tests/virtual_gpu/ptx/lexer.h"
#include "tests/virtual_gpu/ptx/module.h"
#include "tests/virtual_gpu/ptx/scopes.h"

namespace sinter::virtual_gpu::ptx {
namespace {

/// The digits as an integer; nullopt if other characters occur or there are too many.
std::optional<int> small_integer(std::string_view digits) {
  int value = 0;
  if (digits.empty() || digits.size() > 6) return std::nullopt;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc{} || stop != end || value < 0) return std::nullopt;
  return value;
}

class Parser {
 public:
  explicit Parser(std::string text)
      : module_{.text = std::make_unique<const std::string>(std::move(text))},
        lexer_(*module_.text) {}

  Module parse() {
    take_version();
    take_target();
    if (lexer_.accept(".address_size")) take_integer(lexer_, 64, 64);
    while (lexer_.peek().kind != TokenKind::end) take_statement();
    return std::move(module_);
  }

 private:
  struct Known {
    bool is_function = false;
    bool is_defined = false;
  };

  void take_version() {
    if (!lexer_.accept(".version"))
      fail(lexer_.peek(), "expected `.version` at the begin of a module");
    const Token token = lexer_.expect(TokenKind::number, "a version");
    const std::size_t dot = std::min(token.text.find('.'), token.text.size() - 1);
    const std::optional<int> major = small_integer(token.text.substr(0, dot));
    const std::optional<int> minor = small_integer(token.text.substr(dot + 1));
    if (!major || !minor || *minor > 9) fail(token, "expected a version such as 9.0");
    module_.version = *major * 10 + *minor;
  }

  /// `.target sm_90a, debug`. The `debug` specifier changes no result.
  void take_target() {
    if (!lexer_.accept(".target")) fail(lexer_.peek(), "expected `.target` behind `.version`");
    const Token token = lexer_.expect(TokenKind::word, "a target");
    std::string_view digits = token.text;
    if (digits.substr(0, 3) != "sm_") fail(token, "the interpreter does not know this target");
    digits.remove_prefix(3);
    if (!digits.empty() && (digits.back() == 'a' || digits.back() == 'f')) digits.remove_suffix(1);
    const std::optional<int> target = small_integer(digits);
    if (!target) fail(token, "the interpreter does not know this target");
    module_.target = *target;
    module_.target_name = token.text;
    while (lexer_.accept(',')) {
      const Token option = lexer_.expect(TokenKind::word, "an option of the target");
      if (option.text != "debug") fail(option, "the interpreter does not know this option");
    }
  }

  void take_statement() {
    if (skip_annotation(lexer_)) return;
    // PTX ISA 11.6: `.weak` and `.common` choose among definitions of several modules.
    const bool is_extern = lexer_.accept(".extern");
    if (!is_extern && !lexer_.accept(".visible") && !lexer_.accept(".weak"))
      lexer_.accept(".common");
    const Token token = lexer_.peek();
    if (token.text == ".version") fail(token, "a module begins with it and has only one");
    if (lexer_.accept(".entry")) return take_function(token, true);
    if (lexer_.accept(".func")) return take_function(token, false);
    if (token.kind != TokenKind::directive) fail(token, "expected a directive of a module");
    const std::optional<Space> space = space_of(token);
    if (!space || *space == Space::param || *space == Space::local)
      fail_directive(token, "in a module");
    for (Declaration& declaration : take_variables(lexer_, is_extern)) add(std::move(declaration));
  }

  /// Declares a name of the module: any number of times, but defines it at most once. False if the
  /// module has declared it before.
  bool declare(const Token& token, Known known) {
    const auto [place, is_new] = known_.try_emplace(token.text, known);
    if (is_new) return true;
    if (place->second.is_function != known.is_function)
      fail(token, "the module declares this name as a function and as a variable");
    if (place->second.is_defined && known.is_defined)
      fail(token, "the module defines this name twice");
    place->second.is_defined |= known.is_defined;
    return false;
  }

  void add(Declaration declaration) {
    Variable& variable = declaration.variable;
    const Known known{.is_function = false, .is_defined = !variable.is_extern};
    if (declare(declaration.token, known)) {
      module_.variables.push_back(std::move(variable));
      return;
    }
    const auto earlier =
        std::find_if(module_.variables.begin(), module_.variables.end(),
                     [&](const Variable& other) { return other.name == variable.name; });
    if (earlier->is_extern) *earlier = std::move(variable);
  }

  /// PTX ISA 11.2. A function without body is a declaration, which the module does not keep.
  void take_function(const Token& directive, bool is_entry) {
    Function function{.name = {}, .is_entry = is_entry, .line = directive.line};
    Scopes scopes(module_);
    if (lexer_.peek().is('(')) {
      if (is_entry) fail(lexer_.peek(), "a kernel has no results");
      function.results = take_parameters(lexer_, scopes);
    }
    const Token name = lexer_.expect(TokenKind::word, "the name of a function");
    if (!is_identifier(name.text)) fail(name, "this is no identifier");
    function.name = name.text;
    if (lexer_.peek().is('(')) function.parameters = take_parameters(lexer_, scopes);
    while (take_performance_directive(lexer_, function) || skip_annotation(lexer_)) continue;
    const bool is_defined = !lexer_.accept(';');
    declare(name, {.is_function = true, .is_defined = is_defined});
    if (!is_defined) return;
    if (lexer_.peek().kind == TokenKind::directive) fail_directive(lexer_.peek(), "of a function");
    take_body(lexer_, scopes, module_, function);
    module_.functions.push_back(std::move(function));
  }

  Module module_;
  Lexer lexer_;
  std::unordered_map<std::string_view, Known> known_;
};

}  // namespace

Module parse(std::string text) { return Parser(std::move(text)).parse(); }

}  // namespace sinter::virtual_gpu::ptx
