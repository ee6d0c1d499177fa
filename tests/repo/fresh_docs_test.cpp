// Compares the generated references in docs/reference with their sources. SINTER_BLESS=1 rewrites
// them.
#include "ir/ops/op.h"
#include "runtime/support/options_table.h"
#include "sinter/text.h"
#include "tests/repo/source_tree.h"
#include "tests/support/files/command.h"
#include "tests/support/files/read_text.h"

#include <algorithm>
#include <cstdlib>
#include <regex>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sinter::repo::fresh_docs_test {
namespace {

using test::command_path;
using test::read_text;
using test::run_command;

/// A part of a page that is generated from a table.
struct Reference {
  std::string path;   ///< of the page, from the root
  std::string name;   ///< the part is between `<!-- name:begin -->` and `<!-- name:end -->`
  std::string table;  ///< the name of the table, for messages
  std::string text;   ///< the generated text
};

/// A message about the first line of `section` that differs from the reference, or "". `section`
/// follows `head` in the page.
std::string first_difference(const Reference& reference, const std::string& head,
                             const std::string& section) {
  const std::vector<std::string> wanted = split_lines(reference.text);
  const SourceFile readme{reference.path, split_lines(head + section)};
  const std::size_t first = split_lines(head).size();
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (first + i >= readme.lines.size() || readme.lines[first + i] != wanted[i])
      return offence(readme, first + i,
                     "the " + reference.table + " says \"" + wanted[i] +
                         "\"; SINTER_BLESS=1 bin/sinter_repo_tests rewrites the reference");
  if (readme.lines.size() > first + wanted.size())
    return offence(readme, first + wanted.size(), "is no line of the reference");
  return "";
}

/// Expects the part of the page to equal the reference. With SINTER_BLESS=1, rewrites it instead.
void expect_fresh(const Reference& reference) {
  const std::string begin_mark = "<!-- " + reference.name + ":begin -->\n";
  const std::string end_mark = "<!-- " + reference.name + ":end -->\n";
  const std::filesystem::path readme = source_root() / reference.path;
  const std::string text = read_text(readme);
  const std::size_t begin = text.find(begin_mark);
  const std::size_t end = text.find(end_mark);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos && begin < end)
      << reference.path << " lacks the lines " << begin_mark << "and " << end_mark;
  const std::size_t first = begin + begin_mark.size();
  if (std::getenv("SINTER_BLESS")) {
    std::ofstream(readme, std::ios::binary)
        << text.substr(0, first) << reference.text << text.substr(end);
    return;
  }
  EXPECT_EQ(first_difference(reference, text.substr(0, first), text.substr(first, end - first)),
            "");
}

std::string describe_types(TypeRule rule) {
  const bool tells = rule == TypeRule::Predicate || rule == TypeRule::Compare;
  const std::string_view gives = rule == TypeRule::Random ? "; gives u32"
                                 : tells                  ? "; gives bool"
                                                          : "";
  return std::string(dtypes_text(rule)) + std::string(gives);
}

std::string_view describe_kind(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::integer: return "integer";
    case AttributeKind::boolean: return "true or false";
    case AttributeKind::string: return "text";
    case AttributeKind::dtype: return "dtype";
    case AttributeKind::literal: return "number";
    case AttributeKind::extent: return "extent";
    case AttributeKind::integers: return "[integers]";
    case AttributeKind::extents: return "[extents]";
  }
  return "";
}

std::string describe_attributes(const OpInfo& row) {
  std::string words;
  for (const AttributeInfo& attribute : row.attributes) {
    if (attribute.name == "sequence") continue;  // of collectives; only planning sets it
    words += fmt::format("{}`{}`: {}", words.empty() ? "" : "; ", attribute.name,
                         describe_kind(attribute.kind));
    if (!attribute.required()) words += fmt::format(" = `{}`", attribute.default_text);
  }
  return words;
}

/// An op with its operands, such as `mul a, b`.
std::string usage(const OpInfo& row) {
  std::string text(row.name);
  constexpr std::string_view kOperands[] = {" a", ", b", ", c"};
  for (int i = 0; i < row.arity; ++i) text += kOperands[i];
  return text;
}

std::string row_text(const OpInfo& row) {
  switch (row.kind) {
    case OpKind::elementwise:
      return fmt::format("| `{}` | {} | {} | {} |\n", usage(row), describe_types(row.types),
                         row.ulp, row.doc);
    case OpKind::reduction:
      return fmt::format("| `{}` | {} | {} | {} |\n", row.name,
                         row.types == TypeRule::Float     ? "floating"
                         : row.types == TypeRule::Logical ? "bool"
                                                          : "any",
                         describe_attributes(row), row.doc);
    case OpKind::opaque:
      // The attributes in the table describe the node; the text form writes a call differently.
      return fmt::format("| `{} function` | those of the function | {} |\n", row.name, row.doc);
    case OpKind::scan:
    case OpKind::library:
    case OpKind::custom:
    case OpKind::structural:
    case OpKind::source: break;
  }
  return fmt::format("| `{}` | {} | {} |\n", row.name, describe_attributes(row), row.doc);
}

std::string table_of_kind(OpKind kind, std::string_view head) {
  std::string text = fmt::format("\n{}\n|", head);
  for (std::size_t columns = 1;
       columns < static_cast<std::size_t>(std::count(head.begin(), head.end(), '|')); ++columns)
    text += "---|";
  text += "\n";
  for (const OpInfo& row : op_table())
    if (row.kind == kind) text += row_text(row);
  return text;
}

/// One markdown table per kind of op, with the name, dtypes or attributes, and result of each op.
std::string op_reference() {
  return table_of_kind(OpKind::elementwise,
                       "| elementwise | dtype of the operands | ulp | gives |") +
         table_of_kind(OpKind::reduction, "| reduction | dtype | attributes = default | gives |") +
         table_of_kind(OpKind::scan, "| scan | attributes | gives |") +
         table_of_kind(OpKind::structural, "| structural | attributes = default | gives |") +
         table_of_kind(OpKind::custom, "| custom | attributes | gives |") +
         table_of_kind(OpKind::library, "| library op | attributes = default | gives |") +
         table_of_kind(OpKind::opaque, "| opaque | attributes | gives |") +
         table_of_kind(OpKind::source, "| source | attributes = default | gives |") + "\n";
}

Reference ops() { return {"docs/reference/ops.md", "ops", "op table", op_reference()}; }

TEST(FreshDocsTest, TheOpReferenceIsThatOfTheTable) { expect_fresh(ops()); }

TEST(FreshDocsTest, TheOptionReferenceIsThatOfTheTable) {
  expect_fresh({"docs/reference/options.md", "options", "table of options", option_reference()});
}

/// The help of the command and of each subcommand, as Markdown.
std::string command_reference() {
  const auto help = [](const std::string& words) {
    return run_command("sinter " + words + "--help", std::filesystem::temp_directory_path()).output;
  };
  const std::string all = help("");
  std::string text = "\n```\n" + all + "```\n";
  static const std::regex subcommand(R"(^  ([a-z]+) {2,}\S)");
  bool in_list = false;
  for (const std::string& line : split_lines(all)) {
    if (line == "Subcommands:") in_list = true;
    std::smatch match;
    if (in_list && std::regex_search(line, match, subcommand))
      text += "\n## sinter " + match[1].str() + "\n\n```\n" + help(match[1].str() + " ") + "```\n";
  }
  return text + "\n";
}

TEST(FreshDocsTest, TheCommandReferenceIsItsHelp) {
  if (command_path().empty()) GTEST_SKIP() << "this build has no command";
  expect_fresh({"docs/reference/command.md", "command", "help of sinter", command_reference()});
}

/// The fields of `struct NAME` in `text`, in order.
std::vector<std::string> fields_of(const std::string& text, const std::string& name) {
  const std::size_t begin = text.find("struct " + name + " {\n");
  const std::size_t end = text.find("\n};", begin);
  static const std::regex field(R"(^  [A-Za-z][^/]*?[ >](\w+) =)");
  std::vector<std::string> fields;
  for (const std::string& line : split_lines(text.substr(begin, end - begin))) {
    std::smatch match;
    if (std::regex_search(line, match, field)) fields.push_back(match[1]);
  }
  return fields;
}

TEST(FreshDocsTest, EveryOptionIsInTheTable) {
  const std::string header = read_text(source_root() / "runtime/include/sinter/options.h");
  std::vector<std::string> fields;
  for (const std::string& field : fields_of(header, "Options")) {
    if (field != "cache") {
      fields.push_back(field);
      continue;
    }
    for (const std::string& inner : fields_of(header, "CacheOptions"))
      fields.push_back("cache." + inner);
  }
  std::vector<std::string> rows;
  for (const OptionInfo& option : option_table()) rows.emplace_back(option.name);
  EXPECT_EQ(rows, fields);
}

TEST(FreshDocsTest, TheExampleOfTheTextFormIsRead) {
  const std::string text = read_text(source_root() / "docs/reference/text_form.md");
  const std::size_t begin = text.find("```\ngraph ") + 4;
  const std::size_t end = text.find("```", begin);
  ASSERT_LT(begin, end);
  const std::string printed = print(parse(text.substr(begin, end - begin), "text_form.md"));
  EXPECT_EQ(print(parse(printed)), printed);
}

TEST(FreshDocsTest, ReportsAStaleLine) {
  const std::string stale = "\n| elementwise | operands |\n";
  EXPECT_EQ(first_difference(ops(), "# ir\n", stale).substr(0, 42),
            "docs/reference/ops.md:3: the op table says");
}

}  // namespace
}  // namespace sinter::repo::fresh_docs_test
