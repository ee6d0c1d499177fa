// A fresh build compiles several files of a library as one translation unit (sinter_unity_build in
// cmake/SinterOptions.cmake), which merges their unnamed namespaces. The test checks that names in
// unnamed namespaces are unique in their library. Types and constants must not have the name of one
// in a header either. Functions may, because they can be overloads.
#include "tests/repo/source_tree.h"

#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <utility>

#include <gtest/gtest.h>

namespace sinter::repo::unity_build_names_test {
namespace {

/// Lowest first. A library sees the headers of the libraries before it.
constexpr std::string_view kLibraries[] = {"ir/",      "compiler/",     "codegen/",
                                           "runtime/", "tools/onnx/", "tools/sinter/", "tests/support/",
                                           "tests/virtual_gpu/"};

/// Files in the folder of a library that are not part of it.
bool is_compiled_apart(const std::string& path) {
  constexpr std::string_view kFolders[] = {"codegen/device/", "tests/virtual_gpu/mutation/tool/",
                                           "tests/virtual_gpu/nccl/", "tests/virtual_gpu/product/"};
  return path.ends_with("_test.cpp") ||
         std::ranges::any_of(kFolders, [&](std::string_view one) { return path.starts_with(one); });
}

/// The index in kLibraries of the library of `path`; nullopt for files that are compiled
/// separately.
std::optional<std::size_t> library_of(const std::string& path) {
  for (std::size_t i = 0; i < std::size(kLibraries); ++i)
    if (path.starts_with(kLibraries[i]) && !is_compiled_apart(path)) return i;
  return std::nullopt;
}

struct Definition {
  std::string scope;  ///< the named namespaces around it
  std::string name;
  std::size_t line = 0;
  std::string text;  ///< its first line
  bool is_function = false;
  bool is_unnamed = false;  ///< local to the file: in an unnamed namespace, static, or an alias
};

/// A declaration without `template <…>` and attributes; "" if more text is needed.
std::string without_template(std::string text) {
  static const std::regex attribute(R"(\[\[.*?\]\])");
  text = std::regex_replace(text, attribute, "");
  while (text.starts_with("template")) {
    std::size_t end = text.find('<');
    for (int depth = 0; end < text.size(); ++end) {
      if (text[end] == '<') ++depth;
      if (text[end] == '>' && --depth == 0) break;
    }
    if (end >= text.size()) return "";
    text.erase(0, text.find_first_not_of(' ', end + 1));
  }
  return text;
}

/// The name that `text`, a declaration in one line, declares, and true if it is a function. The
/// name is empty if the text defines none. nullopt if more text is needed.
std::optional<std::pair<std::string, bool>> declared(const std::string& text) {
  static const std::regex nothing(
      R"((static_assert|extern|friend|using enum|using namespace|using [\w:]+;|public:|private:).*)");
  static const std::regex type(
      R"((?:enum class|enum|struct|class|union) (\w+)(?:;.*| final \{.*| \{.*| :.*\{.*))");
  static const std::regex special(R"((?:enum class|enum|struct|class|union) (\w+<|\w+::).*)");
  static const std::regex alias(R"((?:using|namespace|concept) (\w+) =.*)");
  static const std::regex last_name(R"(.*?([\w:~]+)\s*$)");
  const std::string plain = without_template(text);
  std::smatch match;
  if (std::regex_match(plain, match, type) || std::regex_match(plain, match, alias))
    return std::pair(match[1].str(), false);
  if (std::regex_match(plain, nothing) || std::regex_match(plain, special))
    return std::pair(std::string(), false);
  if (plain.starts_with("struct ") || plain.starts_with("class ")) return std::nullopt;
  int depth = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (plain[i] == '<') ++depth;
    if (plain[i] == '>') --depth;
    if (depth > 0 || std::string_view("(={[;").find(plain[i]) == std::string_view::npos) continue;
    const std::string before = plain.substr(0, i);
    if (before.find("operator") != std::string::npos || !std::regex_match(before, match, last_name))
      return std::pair(std::string(), false);
    const std::string name = match[1];
    const bool is_member = name.find("::") != std::string::npos;
    return std::pair(is_member ? std::string() : name, plain[i] == '(');
  }
  return std::nullopt;
}

/// The definitions that begin at column 0, as all definitions in a namespace do after clang-format.
std::vector<Definition> definitions_in(const SourceFile& file) {
  static const std::regex opening(R"((?:inline )?namespace ?([\w:]*) ?\{)");
  static const std::regex alias(R"((?:namespace|using) \w+ = .*;)");
  constexpr std::size_t kMostLines = 6;
  std::vector<std::string> scopes;
  std::vector<Definition> result;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    std::smatch match;
    if (std::regex_match(line, match, opening)) scopes.push_back(match[1]);
    if (line.starts_with("}  // namespace") && !scopes.empty()) scopes.pop_back();
    const bool begins = !line.empty() && (std::isalpha(line[0]) || line.starts_with("[["));
    if (!begins || std::regex_match(line, opening)) continue;
    std::string text = line;
    std::optional<std::pair<std::string, bool>> what = declared(text);
    for (std::size_t next = i + 1; !what && next < file.lines.size() && next < i + kMostLines;
         ++next) {
      text += " " + file.lines[next].substr(
                        std::min(file.lines[next].find_first_not_of(' '), file.lines[next].size()));
      what = declared(text);
    }
    if (!what || what->first.empty()) continue;
    Definition found{.name = what->first, .line = i, .text = line, .is_function = what->second};
    for (const std::string& scope : scopes) {
      found.is_unnamed |= scope.empty();
      if (!scope.empty()) found.scope += "::" + scope;
    }
    found.is_unnamed |= line.starts_with("static ") || std::regex_match(line, alias);
    result.push_back(std::move(found));
  }
  return result;
}

/// True if both are the same alias, which two files may have.
bool is_same_alias(const Definition& a, const Definition& b) {
  const bool is_alias = a.text.starts_with("using ") || a.text.starts_with("namespace ");
  return is_alias && a.text.ends_with(';') && a.text == b.text;
}

std::string shared_names(const std::vector<SourceFile>& files) {
  struct Place {
    const SourceFile* file;
    Definition what;
  };
  using Names = std::map<std::pair<std::string, std::string>, Place>;
  Names in_headers[std::size(kLibraries)];
  for (const SourceFile& file : files)
    if (const auto library = library_of(file.path); library && file.path.ends_with(".h"))
      for (Definition& found : definitions_in(file))
        if (!found.is_function)
          in_headers[*library].try_emplace({found.scope, found.name}, Place{&file, found});

  std::string offences;
  Names unnamed[std::size(kLibraries)];
  for (const SourceFile& file : files) {
    const auto library = library_of(file.path);
    if (!library || !file.path.ends_with(".cpp")) continue;
    for (Definition& found : definitions_in(file)) {
      if (!found.is_unnamed) continue;
      const std::pair key(found.scope, found.name);
      const auto report = [&](const Place& other, const std::string& what_to_do) {
        offences += offence(file, found.line,
                            found.name + " is also in " + other.file->path + ":" +
                                std::to_string(other.what.line + 1) + "; " + what_to_do);
      };
      const Place& first = unnamed[*library].try_emplace(key, Place{&file, found}).first->second;
      if (first.file != &file && !is_same_alias(first.what, found))
        report(first, "give one of them another name, or move what they share to a header");
      for (std::size_t seen = 0; seen <= *library && !found.is_function; ++seen)
        if (const auto known = in_headers[seen].find(key);
            known != in_headers[seen].end() && !is_same_alias(known->second.what, found))
          report(known->second, "give it another name");
    }
  }
  return offences;
}

TEST(UnityBuildNamesTest, NamesInUnnamedNamespacesAreUniqueInTheirLibrary) {
  EXPECT_EQ(shared_names(read_source_tree()), "");
}

SourceFile unnamed(const std::string& path, std::vector<std::string> lines) {
  std::vector<std::string> all = {"namespace sinter {", "namespace {"};
  all.insert(all.end(), lines.begin(), lines.end());
  all.insert(all.end(), {"}  // namespace", "}  // namespace sinter"});
  return {path, all};
}

TEST(UnityBuildNamesTest, ReportsFunctionsWithBothFiles) {
  const std::vector<SourceFile> files = {
      unnamed("ir/a.cpp", {"int place_of(int x) {", "  return place_of(x);", "}"}),
      unnamed("ir/b.cpp", {"[[nodiscard]] std::map<int, std::function<void(int)>> place_of(",
                           "    std::string_view text) {", "}"}),
  };
  EXPECT_EQ(shared_names(files),
            "ir/b.cpp:3: place_of is also in ir/a.cpp:3; give one of them another name, or move "
            "what they share to a header\n");
}

TEST(UnityBuildNamesTest, ReportsEveryKindOfDefinition) {
  const std::string kinds[] = {
      "struct Same {",
      "template <class T> struct Same;",
      "class Same : public Base {",
      "enum class Same { a, b };",
      "using Same = std::vector<int>;",
      "namespace Same = std::filesystem;",
      "constexpr int Same = 1;",
      "constexpr std::chrono::seconds Same{10};",
      "const char* const Same[] = {\"a\"};",
      "thread_local std::map<int, int> Same;",
      "template <class T>\nconcept Same = true;",
      "template <class T, std::enable_if_t<(sizeof(T) > 1)>*>\nT Same(T x) {"};
  for (const std::string& kind : kinds) {
    const std::vector<SourceFile> files = {
        unnamed("runtime/a.cpp", {"int Same(long x) { return 0; }"}),
        unnamed("runtime/saved/b.cpp", split_lines(kind))};
    EXPECT_NE(shared_names(files), "") << kind;
  }
}

TEST(UnityBuildNamesTest, ReportsStaticFunctionsAndAliasesOutsideOfUnnamedNamespaces) {
  const std::vector<SourceFile> files = {
      {"runtime/a.cpp", {"namespace fs = std::filesystem;", "static int count(int x) {", "}"}},
      {"runtime/b.cpp", {"namespace fs = boost::filesystem;", "static int count(long x) {", "}"}},
  };
  EXPECT_NE(shared_names(files).find("b.cpp:1: fs is also in"), std::string::npos);
  EXPECT_NE(shared_names(files).find("b.cpp:2: count is also in"), std::string::npos);
}

TEST(UnityBuildNamesTest, ReportsATypeOfAHeaderThatTheLibrarySees) {
  const SourceFile header = {"compiler/body/footprint.h",
                             {"namespace sinter {", "struct Footprint {"}};
  EXPECT_EQ(
      shared_names({header, unnamed("runtime/a.cpp", {"class Footprint {"})}),
      "runtime/a.cpp:3: Footprint is also in compiler/body/footprint.h:2; give it another name\n");
  EXPECT_EQ(shared_names({header, unnamed("ir/a.cpp", {"class Footprint {"})}), "");
}

TEST(UnityBuildNamesTest, AllowsWhatDoesNotMeet) {
  const std::vector<SourceFile> files = {
      unnamed("ir/a.cpp", {"int f(int x);", "using Json = nlohmann::json;", "int g(int x) {",
                           "int g(long x) {", "int Node::size() const {"}),
      unnamed("ir/b.cpp", {"using Json = nlohmann::json;", "static_assert(true);",
                           "int Node::bytes() const {", "  int g(int x);"}),
      unnamed("runtime/a.cpp", {"int f(int x) {", "}"}),
      {"runtime/b.cpp",
       {"namespace sinter::host {", "namespace {", "int f(int x) {", "}", "}  // namespace",
        "int g(int x) {", "}"}},
  };
  EXPECT_EQ(shared_names(files), "");
}

}  // namespace
}  // namespace sinter::repo::unity_build_names_test
