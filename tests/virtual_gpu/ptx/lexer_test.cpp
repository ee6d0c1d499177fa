// Tests of the words that the lexer finds, their lines, and its errors.
#include "tests/virtual_gpu/ptx/lexer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sinter::virtual_gpu::lexer_test {
namespace {

using ptx::Lexer;
using ptx::TokenKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result;
  for (Lexer lexer(text); lexer.peek().kind != TokenKind::end;)
    result.emplace_back(lexer.take().text);
  return result;
}

std::vector<TokenKind> kinds(std::string_view text) {
  std::vector<TokenKind> result;
  for (Lexer lexer(text); lexer.peek().kind != TokenKind::end;) result.push_back(lexer.take().kind);
  return result;
}

/// The error of the text; empty if there is none.
std::string error_of(std::string_view text) {
  try {
    words(text);
  } catch (const PtxError& error) {
    return error.what();
  }
  return {};
}

TEST(PtxLexer, OpcodesAndSpecialRegistersKeepTheirDots) {
  EXPECT_THAT(words("ld.global.L2::128B.v4.u32 {%tid.x}"),
              ElementsAre("ld.global.L2::128B.v4.u32", "{", "%tid.x", "}"));
}

TEST(PtxLexer, DirectivesEndAtTheNextDot) {
  EXPECT_THAT(words(".reg.b32\t.f32"), ElementsAre(".reg", ".b32", ".f32"));
}

TEST(PtxLexer, LabelsEndBeforeASingleColon) {
  EXPECT_THAT(words("$L__BB0_1:ret;"), ElementsAre("$L__BB0_1", ":", "ret", ";"));
}

TEST(PtxLexer, KindsFollowTheFirstCharacter) {
  EXPECT_THAT(
      kinds("_ %r1 $L a .b32 12 \"text\" {"),
      ElementsAre(TokenKind::word, TokenKind::word, TokenKind::word, TokenKind::word,
                  TokenKind::directive, TokenKind::number, TokenKind::string, TokenKind::symbol));
}

TEST(PtxLexer, OffsetsAreSeparateWords) {
  EXPECT_THAT(words("[%rd1+-16]"), ElementsAre("[", "%rd1", "+", "-", "16", "]"));
}

TEST(PtxLexer, PredicatePairsAreThreeWords) {
  EXPECT_THAT(words("%p1|%p2"), ElementsAre("%p1", "|", "%p2"));
}

TEST(PtxLexer, ExponentsBelongToTheNumber) {
  EXPECT_THAT(words("1.5e-3 2E+4 1e5 9.0"), ElementsAre("1.5e-3", "2E+4", "1e5", "9.0"));
}

TEST(PtxLexer, HexadecimalNumbersHaveNoExponent) {
  EXPECT_THAT(words("0x1e-3 0f3F80000E+1"), ElementsAre("0x1e", "-", "3", "0f3F80000E", "+", "1"));
}

TEST(PtxLexer, StringsLoseTheirQuotes) {
  EXPECT_THAT(words(".pragma \"a // b\";"), ElementsAre(".pragma", "a // b", ";"));
}

TEST(PtxLexer, CommentsAreBlanks) {
  EXPECT_THAT(words("a// b\nc/* d\n */e /**/ f //"), ElementsAre("a", "c", "e", "f"));
}

TEST(PtxLexer, CountsLinesInBlanksAndComments) {
  Lexer lexer("a\n/* b\n\n */ c // d\r\ne");
  EXPECT_EQ(lexer.take().line, 1);
  EXPECT_EQ(lexer.take().line, 4);
  EXPECT_EQ(lexer.take().line, 5);
  EXPECT_EQ(lexer.peek().kind, TokenKind::end);
}

TEST(PtxLexer, EmptyTextsHaveNoWords) {
  EXPECT_TRUE(words("").empty());
  EXPECT_TRUE(words(" \n\t").empty());
  EXPECT_TRUE(words("// only a comment").empty());
}

TEST(PtxLexer, TheEndStaysTheEnd) {
  Lexer lexer("a");
  lexer.take();
  EXPECT_EQ(lexer.take().kind, TokenKind::end);
  EXPECT_EQ(lexer.take().kind, TokenKind::end);
}

TEST(PtxLexer, AcceptTakesOnlyTheGivenWord) {
  Lexer lexer("{.reg");
  EXPECT_FALSE(lexer.accept('}'));
  EXPECT_FALSE(lexer.accept(".reg"));
  EXPECT_TRUE(lexer.accept('{'));
  EXPECT_FALSE(lexer.accept(".re"));
  EXPECT_TRUE(lexer.accept(".reg"));
}

TEST(PtxLexer, ErrorsNameLineAndWord) {
  EXPECT_THAT(error_of("a\nb ?"), HasSubstr("line 2: ?:"));
  EXPECT_THAT(error_of("\n\n%"), HasSubstr("line 3: %:"));
  EXPECT_THAT(error_of("$ "), HasSubstr("line 1: $:"));
  EXPECT_THAT(error_of("a .5"), HasSubstr("line 1: .:"));
}

TEST(PtxLexer, ErrorsShowUnprintableCharactersAsCodes) {
  EXPECT_THAT(error_of(std::string_view("a\0b", 3)), HasSubstr("line 1: \\x00:"));
  EXPECT_THAT(error_of("\xc3\xa4"), HasSubstr("line 1: \\xc3:"));
}

TEST(PtxLexer, OpenCommentsAndStringsAreErrors) {
  EXPECT_THAT(error_of("a\n/* b"), HasSubstr("line 2: /*: the comment has no end"));
  EXPECT_THAT(error_of("/*/"), HasSubstr("the comment has no end"));
  EXPECT_THAT(error_of("\"a\nb\""), HasSubstr("line 1: \": the string has no end"));
}

TEST(PtxLexer, ExpectNamesTheWordFoundInstead) {
  Lexer lexer("\nret");
  EXPECT_THAT([&] { lexer.expect(';'); },
              ::testing::ThrowsMessage<PtxError>(HasSubstr("line 2: ret: expected `;`")));
  EXPECT_THAT([&] { lexer.expect(TokenKind::number, "a version"); },
              ::testing::ThrowsMessage<PtxError>(HasSubstr("line 2: ret: expected a version")));
  lexer.take();
  EXPECT_THAT([&] { lexer.expect(';'); }, ::testing::ThrowsMessage<PtxError>(
                                              HasSubstr("line 2: end of the text: expected `;`")));
}

TEST(PtxLexer, ErrorsShortenLongWords) {
  const std::string word(5000, 'x');
  EXPECT_THAT(
      [&] { ptx::fail({.kind = TokenKind::word, .text = word, .line = 7}, "is long"); },
      ::testing::ThrowsMessage<PtxError>("line 7: " + std::string(80, 'x') + "...: is long"));
}

TEST(PtxLexer, IdentifiersHaveNoDots) {
  EXPECT_TRUE(ptx::is_identifier("_Z3fooPf"));
  EXPECT_TRUE(ptx::is_identifier("%r1"));
  EXPECT_TRUE(ptx::is_identifier("$L"));
  EXPECT_FALSE(ptx::is_identifier("%tid.x"));
  EXPECT_FALSE(ptx::is_identifier("%"));
  EXPECT_FALSE(ptx::is_identifier("1a"));
  EXPECT_FALSE(ptx::is_identifier(""));
}

}  // namespace
}  // namespace sinter::virtual_gpu::lexer_test
