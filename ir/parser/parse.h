// The recursive-descent parser of the text form. Each function reads one rule of the grammar
// (docs/reference/text_form.md). The OpSyntax of an op lists its operands and attributes.
#pragma once

#include "ir/parser/op_syntax.h"
#include "ir/parser/text_errors.h"
#include "ir/record/record.h"
#include "ir/text/lexer.h"
#include "sinter/opaque.h"

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sinter {

class Parser {
 public:
  Parser(std::string_view text, std::string_view file_name);
  /// Parses the whole text. Throws UserError with all mistakes found in it.
  Graph parse();

 private:
  /// The value bound to a name. Its tensor is empty if the defining statement had a mistake. Later
  /// statements that use such a value are skipped without a message, to report each mistake once.
  struct Value {
    Tensor tensor;
    int line = 0;
  };
  struct Statement {
    std::vector<Token> results;
    Token op;
    std::vector<Operand> operands;
    bool is_poisoned = false;  ///< a mistake was reported, here or in the statement of an operand
  };

  // parse.cpp: tokens, recovery, and the statements.
  void advance();
  bool accept(std::string_view spelling);
  void expect(std::string_view spelling, std::string_view where);
  Token expect_name(std::string_view what);
  [[noreturn]] void fail_at(const Token& token, std::string message) const;
  [[noreturn]] void fail_expected(std::string_view what) const;
  void report(TextPosition position, std::string message);
  bool at(std::string_view spelling) const { return token_.is(spelling); }
  bool ends_statement() const;
  bool looks_like_statement() const;
  void skip_statement();
  void body();
  void end_of_graph();
  void statement();
  void return_statement();
  void return_item();
  void update_statement();
  void assignment();
  void result_names(Statement& statement);
  void end_of_statement(std::string_view expected);
  void check_counts(Statement& statement, const OpSyntax& syntax);
  void record(Statement& statement, const OpSyntax& syntax,
              const std::vector<ParsedAttribute>& arguments);
  void define(const Token& name, Tensor tensor);
  void define_results(const Statement& statement, std::span<const Tensor> tensors);
  const Value* find_value(const Token& name);
  /// Runs `call`, which records ops. A UserError becomes a mistake reported at `token`.
  void call_at(const Token& token, const std::function<void()>& call);
  Operand operand_of(Tensor tensor, const Token& token) const;

  // parse_opaque.cpp: calls of registered functions.
  void opaque_assignment(Statement& statement);
  std::vector<OpaqueAttribute> opaque_attributes();
  std::vector<OpaqueType> opaque_types();

  // parse_header.cpp: the name and the inputs.
  void header();
  void inputs();
  void input();
  void input_option(bool is_scalar, std::vector<Extent>& strides, InputOptions& options);
  void range_option(InputOptions& options);
  bool begins_input() const;
  void skip_input();

  // parse_values.cpp: operands, attributes, types and numbers.
  void operands(Statement& statement);
  void operand(Statement& statement);
  std::vector<ParsedAttribute> attributes(Statement& statement, const OpSyntax& syntax);
  void attribute(Statement& statement, const OpSyntax& syntax,
                 std::vector<ParsedAttribute>& arguments);
  void skip_attribute_value();
  void attribute_value(const AttributeInfo& info, ParsedAttribute& argument);
  void fill_defaults(Statement& statement, const OpSyntax& syntax,
                     std::vector<ParsedAttribute>& arguments);
  void type_annotation(Tensor recorded);
  std::int64_t integer(std::string_view what);
  std::string string(std::string_view what);
  bool at_literal() const;
  Literal literal(std::string_view what);
  double real(const Token& token) const;
  DType dtype();
  std::vector<std::int64_t> integers(std::string_view what);
  std::vector<Extent> extents(std::string_view what);
  Extent extent();
  Extent extent_sum(int depth);
  Extent extent_product(int depth);
  Extent extent_factor(int depth);

  Location here(const Token& token) const { return {.file = file_, .line = token.position.line}; }
  GraphData& data() { return graph_.data(); }

  Lexer lexer_;
  Token token_;
  int depth_ = 0;  ///< open brackets since the statement began
  TextErrors errors_;
  const char* file_ = "";  ///< kept by the graph, for locations
  Graph graph_;
  bool header_is_broken_ = false;
  bool has_result_ = false;  ///< return or update was seen
  bool has_returned_ = false;
  std::unordered_map<std::string_view, Value> values_;
  std::size_t suggestions_left_ = 200'000;  ///< comparisons left for suggestions; bounds the time
};

}  // namespace sinter
