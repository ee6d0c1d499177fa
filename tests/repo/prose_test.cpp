// Checks the English of pages and comments (CONTRIBUTING.md, "Style"). Sentences have at most 25
// words, do not begin with a question word, and contain no phrase of the list below.
#include "tests/repo/source_tree.h"

#include <regex>

#include <gtest/gtest.h>

namespace sinter::repo::prose_test {
namespace {

constexpr std::size_t kMostWords = 25;

/// A piece of running text and the line where it begins, counted from 0.
struct Passage {
  std::size_t line = 0;
  std::string text;
};

/// Phrases that no passage contains, in lower case.
constexpr std::string_view kBanned[] = {
    "is made of",   "are made of",  "come of it",  "comes of it", "comes of this", "comes of that",
    "come of this", "lie",          "lies",        "has place",   "have place",    "as may be",
    "all along",    "at last",      "by way of",   "for want of", "whoever",       "whatever",
    "nobody",       "somebody",     "dealt out",   "handed over", "on its way",    "on their way",
    "at hand",      "turned round", "stand",       "stands",      "stood",         "anew",
    "go through",   "goes through", "gone through"};

/// True if `phrase` is in `text` as whole words.
bool contains_phrase(std::string_view text, std::string_view phrase) {
  const auto is_letter = [&](std::size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at]));
  };
  for (std::size_t at = text.find(phrase); at != text.npos; at = text.find(phrase, at + 1))
    if (!is_letter(at - 1) && !is_letter(at + phrase.size())) return true;
  return false;
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// `text` with every piece of code as one word.
std::string without_code(std::string text) {
  static const std::regex code("`[^`]*`"), link(R"(\]\([^)]*\)(\{[^}]*\})?)");
  text = std::regex_replace(text, code, "X");
  return std::regex_replace(text, link, "]");
}

std::vector<std::string> sentences(const std::string& text) {
  static const std::regex abbreviation(R"(\b(e\.g|i\.e|etc|vs|cf)\.)"),
      end(R"([.!?:;]\s+(?=[A-Z0-9"(]))");
  const std::string plain = std::regex_replace(text, abbreviation, "$1");
  std::vector<std::string> result;
  auto begin = plain.cbegin();
  for (std::sregex_iterator it(plain.begin(), plain.end(), end), none; it != none; ++it) {
    result.emplace_back(begin, plain.cbegin() + it->position());
    begin = plain.cbegin() + it->position() + 1;
  }
  result.emplace_back(begin, plain.cend());
  return result;
}

std::size_t words_in(const std::string& sentence) {
  std::istringstream stream(sentence);
  std::size_t count = 0;
  for (std::string word; stream >> word;)
    count += std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isalnum(c); });
  return count;
}

/// The paragraphs, list items and table cells of a page, without code, generated references and
/// headings.
std::vector<Passage> passages_of_page(const SourceFile& page) {
  std::vector<Passage> result;
  Passage open;
  const auto close = [&] {
    if (!open.text.empty()) result.push_back(std::move(open));
    open = {};
  };
  static const std::regex item(R"(^\s*([-*]|\d+\.)\s)");
  bool in_code = false, in_reference = false;
  for (std::size_t i = 0; i < page.lines.size(); ++i) {
    const std::string& line = page.lines[i];
    if (line.find(":begin -->") != line.npos) in_reference = true;
    if (line.find(":end -->") != line.npos) in_reference = false;
    const bool is_fence = line.find("```") != line.npos;
    if (is_fence) in_code = !in_code;
    if (is_fence || in_code || in_reference || line.empty() || line.starts_with('#')) {
      close();
      continue;
    }
    if (line.starts_with('|')) {
      close();
      std::istringstream cells(without_code(line));
      for (std::string cell; std::getline(cells, cell, '|');) result.push_back({i, cell});
      continue;
    }
    if (std::regex_search(line, item)) close();
    if (open.text.empty()) open.line = i;
    open.text += line + " ";
  }
  close();
  return result;
}

/// The comments of a source file. Adjacent comment lines are one passage, but list items are
/// separate. Lines with four more spaces are code, which is not checked.
std::vector<Passage> passages_of_source(const SourceFile& file) {
  static const std::regex whole(R"(^\s*//[/!]?<? ?(.*)$)"), trailing(R"([;,{)]\s*///?<? ?(.*)$)"),
      item(R"(^\s*([-*]|\d+\.)\s.*$)");
  std::vector<Passage> result;
  bool is_open = false;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    std::smatch match;
    const bool is_comment = file.lines[i].find("//") != std::string::npos;
    const bool is_whole = is_comment && std::regex_match(file.lines[i], match, whole);
    if (!is_whole && !(is_comment && std::regex_search(file.lines[i], match, trailing))) {
      is_open = false;
      continue;
    }
    const std::string text = match[1];
    if (text.empty() || text.starts_with("    ") || text.find("clang-format") != text.npos) {
      is_open = false;
      continue;
    }
    if (is_whole && is_open && !std::regex_match(text, item)) {
      result.back().text += " " + text;
    } else {
      result.push_back({i, text});
      is_open = true;
    }
  }
  return result;
}

/// The comments and docstrings of a Python file. Adjacent lines are one passage, but list items,
/// rows of tables and comments after code are separate. Code in docstrings is indented by four more
/// spaces, or follows `>>>`.
std::vector<Passage> passages_of_python(const SourceFile& file) {
  static const std::regex comment(R"(^(.*\S {2,}|\s*)# (?!type:|noqa|pragma)(.*)$)"),
      quotes(R"re(^( *)[rRfF]?"""(.*)$)re"), item(R"(^\s*([-*]|\d+\.)\s.*$|^\S+ {3,}.*$)");
  std::vector<Passage> result;
  bool is_open = false, in_docstring = false;
  std::string indent;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    std::string text = file.lines[i];
    std::smatch match;
    bool is_prose = in_docstring;
    if (!in_docstring && std::regex_match(file.lines[i], match, quotes)) {
      indent = match[1];
      text = match[2];
      is_prose = in_docstring = true;
      is_open = false;
    } else if (in_docstring) {
      if (text.starts_with(indent)) text.erase(0, indent.size());
    } else if (std::regex_match(file.lines[i], match, comment)) {
      text = match[2];
      is_prose = true;
      is_open &= std::ranges::all_of(match[1].str(), [](char c) { return c == ' '; });
    }
    const std::size_t end = in_docstring ? text.find("\"\"\"") : text.npos;
    if (end != text.npos) text.erase(end);
    if (!is_prose || text.empty() || text.starts_with("    ") || text.starts_with(">>>")) {
      is_open = false;
    } else if (is_open && !std::regex_match(text, item)) {
      result.back().text += " " + text;
    } else {
      result.push_back({i, text});
      is_open = true;
    }
    if (end != text.npos) in_docstring = is_open = false;
  }
  return result;
}

std::vector<Passage> passages_of(const SourceFile& file) {
  if (file.path.ends_with(".md")) return passages_of_page(file);
  return file.path.ends_with(".py") ? passages_of_python(file) : passages_of_source(file);
}

std::string offences_in(const SourceFile& file) {
  static const std::regex question(R"(^\s*(What|Who|Whose)\b[^?]*$)");
  std::string offences;
  for (const Passage& passage : passages_of(file)) {
    const std::string text = without_code(passage.text);
    for (const std::string& sentence : sentences(text)) {
      const std::size_t words = words_in(sentence);
      if (words > kMostWords)
        offences += offence(file, passage.line,
                            std::to_string(words) + " words in one sentence: " + sentence);
      if (std::regex_match(sentence, question))
        offences += offence(file, passage.line, "begins with a question word: " + sentence);
    }
    const std::string lower = lower_case(text);
    for (const std::string_view phrase : kBanned)
      if (contains_phrase(lower, phrase))
        offences += offence(file, passage.line, "says \"" + std::string(phrase) + "\": " + text);
  }
  return offences;
}

/// True for pages, and for all code, whose comments are checked. Golden pages are expected outputs.
bool is_checked(const std::string& path) {
  if (path.starts_with("tests/golden/") && path.ends_with(".md")) return false;
  constexpr std::string_view kEndings[] = {".md", ".h", ".cpp", ".cuh", ".py"};
  return std::ranges::any_of(kEndings, [&](std::string_view end) { return path.ends_with(end); });
}

TEST(ProseTest, PagesAndCommentsArePlainEnglish) {
  std::string offences;
  for (const SourceFile& file : read_source_tree())
    if (is_checked(file.path)) offences += offences_in(file);
  EXPECT_EQ(offences, "");
}

TEST(ProseTest, ReportsALongSentence) {
  std::string line;
  for (int i = 0; i < 26; ++i) line += "word ";
  EXPECT_NE(offences_in({"docs/a.md", {line}}).find("docs/a.md:1: 26 words"), std::string::npos);
  EXPECT_EQ(offences_in({"docs/a.md", {"One. Two `a b c` words."}}), "");
}

TEST(ProseTest, ReadsCommentsAndDocstringsOfPython) {
  const std::vector<std::string> lines = {
      "def f(x):",          "    \"\"\"Gives one.", "    And two.", "",
      "    Three.",         "        code(x)",      "    - four",   "    \"\"\"",
      "    y = x  # Five.", "    # Six,",           "    # seven."};
  std::vector<std::string> texts;
  for (const Passage& passage : passages_of_python({"python/a.py", lines}))
    texts.push_back(std::to_string(passage.line) + " " + passage.text);
  EXPECT_EQ(texts, (std::vector<std::string>{"1 Gives one. And two.", "4 Three.", "6 - four",
                                             "8 Five. Six, seven."}));
  EXPECT_NE(offences_in({"a.py", {"\"\"\"What is known.\"\"\""}}).find("a.py:1: begins with"),
            std::string::npos);
}

TEST(ProseTest, ReportsAQuestionWordAndABannedPhrase) {
  EXPECT_NE(offences_in({"a.h", {"/// What is known of a kernel."}}).find("question word"),
            std::string::npos);
  EXPECT_NE(
      offences_in({"a.h", {std::string("int x;") + "  ///< lies in memory"}}).find("\"lies\""),
      std::string::npos);
  EXPECT_EQ(offences_in({"a.h", {"///     // lies: 1  (an example in code)"}}), "");
  EXPECT_EQ(offences_in({"docs/a.md", {"```", "What lies here", "```"}}), "");
}

}  // namespace
}  // namespace sinter::repo::prose_test
