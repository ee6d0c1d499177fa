// Tests of the declarations of variables, initialisers, parameters and registers.
#include "tests/virtual_gpu/ptx/declaration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu::declaration_test {
namespace {

using ptx::Module;
using ptx::Space;
using ptx::Variable;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Module parse_module(const std::string& statements) {
  return ptx::parse(".version 9.0\n.target sm_90\n.address_size 64\n" + statements);
}

Variable variable(const std::string& statement) { return parse_module(statement).variables.at(0); }

/// The initialiser as numbers.
std::vector<int> bytes_of(const std::string& statement) {
  std::vector<int> result;
  for (const std::byte byte : variable(statement).bytes) result.push_back(static_cast<int>(byte));
  return result;
}

std::string error_of(const std::string& statements) {
  try {
    parse_module(statements);
  } catch (const PtxError& error) {
    return error.what();
  }
  return {};
}

TEST(PtxDeclaration, KeepsSpaceTypeAndAlignment) {
  const Module module =
      parse_module(".global .align 8 .u32 a = 16;\n.const .f64 b;\n.shared .align 128 .b8 c[48];");
  ASSERT_EQ(module.variables.size(), 3u);
  const Variable& a = module.variables[0];
  EXPECT_EQ(a.space, Space::global);
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.type, "u32");
  EXPECT_EQ(a.element_bytes, 4);
  EXPECT_EQ(a.elements, 1);
  EXPECT_EQ(a.alignment, 8);
  EXPECT_EQ(a.line, 4);
  const Variable& b = module.variables[1];
  EXPECT_EQ(b.space, Space::constant);
  EXPECT_EQ(b.alignment, 8);
  EXPECT_EQ(b.size(), 8);
  EXPECT_THAT(b.bytes, IsEmpty());
  const Variable& c = module.variables[2];
  EXPECT_EQ(c.space, Space::shared);
  EXPECT_EQ(c.alignment, 128);
  EXPECT_EQ(c.size(), 48);
}

TEST(PtxDeclaration, ExternalSharedMemoryHasNoSize) {
  const Variable memory = variable(".extern .shared .align 16 .b8 sinter_shared[];");
  EXPECT_TRUE(memory.is_extern);
  EXPECT_EQ(memory.elements, 0);
  EXPECT_EQ(memory.size(), 0);
  EXPECT_EQ(memory.alignment, 16);
}

TEST(PtxDeclaration, ListsDeclareEachName) {
  const Module module = parse_module(".global .u16 a, b[3], c = 7;");
  ASSERT_EQ(module.variables.size(), 3u);
  EXPECT_EQ(module.variables[1].size(), 6);
  EXPECT_EQ(module.variables[2].bytes.size(), 2u);
}

TEST(PtxDeclaration, VectorsHaveTheAlignmentOfTheWhole) {
  const Variable vector = variable(".global .v4 .f32 a;");
  EXPECT_EQ(vector.elements, 4);
  EXPECT_EQ(vector.alignment, 16);
}

TEST(PtxDeclaration, DimensionsMultiply) {
  EXPECT_EQ(variable(".global .u32 a[2][3];").size(), 24);
  EXPECT_EQ(variable(".global .u32 a[2*WARP_SZ];").elements, 64);
}

TEST(PtxDeclaration, IntegersAreLittleEndian) {
  EXPECT_THAT(bytes_of(".global .u32 a = 0x01020304;"), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(bytes_of(".global .s16 a = -2;"), ElementsAre(0xfe, 0xff));
  EXPECT_THAT(bytes_of(".global .b64 a = 0x8000000000000001U;"),
              ElementsAre(1, 0, 0, 0, 0, 0, 0, 0x80));
}

TEST(PtxDeclaration, IntegersAreCutToTheType) {
  EXPECT_THAT(bytes_of(".global .u8 a[3] = {256, 255, -1};"), ElementsAre(0, 255, 255));
}

TEST(PtxDeclaration, IntegersHaveFourBases) {
  EXPECT_THAT(bytes_of(".global .u8 a[6] = {0, 10, 010, 0x1F, 0XaU, 0b101};"),
              ElementsAre(0, 10, 8, 31, 10, 5));
}

TEST(PtxDeclaration, ConstantExpressionsFollowPrecedence) {
  EXPECT_THAT(bytes_of(".global .s8 a[5] = {2+3*4, (2+3)*4, 9-2-3, ~5, -(-7)};"),
              ElementsAre(14, 20, 4, 0xfa, 7));
}

TEST(PtxDeclaration, TheTailIsZero) {
  EXPECT_THAT(bytes_of(".global .u16 a[4] = {1, 2};"), ElementsAre(1, 0, 2, 0, 0, 0, 0, 0));
  EXPECT_THAT(bytes_of(".global .u8 a[2] = {};"), ElementsAre(0, 0));
}

TEST(PtxDeclaration, NestedListsFillEachRow) {
  EXPECT_THAT(bytes_of(".global .u8 a[2][3] = {{1, 2}, {3}};"), ElementsAre(1, 2, 0, 3, 0, 0));
  EXPECT_THAT(bytes_of(".const .v2 .u8 a[2] = {{1, 2}};"), ElementsAre(1, 2, 0, 0));
}

TEST(PtxDeclaration, TheInitialiserSizesAnOpenArray) {
  const Variable open = variable(".const .u16 a[] = {7, 8, 9};");
  EXPECT_EQ(open.elements, 3);
  EXPECT_EQ(open.bytes.size(), 6u);
  EXPECT_EQ(variable(".global .u8 a[][4] = {{1}, {2}};").elements, 8);
}

TEST(PtxDeclaration, FloatsHaveTheSizeOfTheType) {
  // 1.0f is 0x3f800000 and 1.0 is 0x3ff0000000000000.
  EXPECT_THAT(bytes_of(".global .f32 a = 0f3F800000;"), ElementsAre(0, 0, 0x80, 0x3f));
  EXPECT_THAT(bytes_of(".global .f32 a = 1.0;"), ElementsAre(0, 0, 0x80, 0x3f));
  EXPECT_THAT(bytes_of(".global .f32 a = -1.0;"), ElementsAre(0, 0, 0x80, 0xbf));
  EXPECT_THAT(bytes_of(".global .f64 a = 0d3FF0000000000000;"),
              ElementsAre(0, 0, 0, 0, 0, 0, 0xf0, 0x3f));
  EXPECT_THAT(bytes_of(".global .f64 a = 0f3F800000;"), ElementsAre(0, 0, 0, 0, 0, 0, 0xf0, 0x3f));
  EXPECT_THAT(bytes_of(".global .b32 a = 0f80000000;"), ElementsAre(0, 0, 0, 0x80));
}

TEST(PtxDeclaration, DecimalFloatsRoundToTheType) {
  // 0.1 is 0x3fb999999999999a as f64 and 0x3dcccccd as f32.
  EXPECT_THAT(bytes_of(".global .f64 a = 0.1;"),
              ElementsAre(0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f));
  EXPECT_THAT(bytes_of(".global .f32 a = 1e-1;"), ElementsAre(0xcd, 0xcc, 0xcc, 0x3d));
}

TEST(PtxDeclaration, DamagedInitialisersAreErrors) {
  EXPECT_THAT(error_of(".global .u8 a[1] = {1, 2};"), HasSubstr("line 4: 2: the initialiser has"));
  EXPECT_THAT(error_of(".global .u8 a[2] = {1,};"), HasSubstr("}: expected a value"));
  EXPECT_THAT(error_of(".global .u8 a = {1};"), HasSubstr("{: expected a constant"));
  EXPECT_THAT(error_of(".global .u8 a[2] = 1;"), HasSubstr("1: expected `{`"));
  EXPECT_THAT(error_of(".global .f32 a = 1;"),
              HasSubstr("1: a variable of this type needs a float"));
  EXPECT_THAT(error_of(".global .u32 a = 0f3F800000;"), HasSubstr("no value of the type u32"));
  EXPECT_THAT(error_of(".global .u64 a = generic(b);"),
              HasSubstr("generic: the interpreter knows"));
  EXPECT_THAT(error_of(".shared .u32 a = 1;"), HasSubstr("only .global and .const"));
  EXPECT_THAT(error_of(".extern .global .u32 a = 1;"), HasSubstr("a: an external variable"));
}

TEST(PtxDeclaration, DamagedNumbersAreErrors) {
  EXPECT_THAT(error_of(".global .u8 a = 08;"), HasSubstr("08: this is no number of PTX"));
  EXPECT_THAT(error_of(".global .u8 a = 12ab;"), HasSubstr("12ab: this is no number of PTX"));
  EXPECT_THAT(error_of(".global .u8 a = 0x;"), HasSubstr("0x: this is no number of PTX"));
  EXPECT_THAT(error_of(".global .u64 a = 18446744073709551616;"), HasSubstr("exceeds 64 bits"));
  EXPECT_THAT(error_of(".global .f32 a = 0f3F80000;"), HasSubstr("needs 8 hexadecimal digits"));
  EXPECT_THAT(error_of(".global .f64 a = 0d3FF00000000000000;"), HasSubstr("needs 16 hexa"));
  EXPECT_THAT(error_of(".global .f32 a = 1.0.0;"), HasSubstr("1.0.0: this is no number"));
  EXPECT_THAT(error_of(".global .f64 a = 1e999;"), HasSubstr("1e999: the float exceeds"));
  EXPECT_THAT(error_of(".global .f64 a = 1.0+1.0;"), HasSubstr("no arithmetic of float"));
}

TEST(PtxDeclaration, DeepExpressionsAreErrors) {
  EXPECT_THAT(error_of(".global .u8 a = " + std::string(100000, '(')),
              HasSubstr("nests too deeply"));
  EXPECT_THAT(error_of(".global .u8 a = " + std::string(100000, '-')),
              HasSubstr("nests too deeply"));
}

TEST(PtxDeclaration, UnknownPropertiesAreErrors) {
  EXPECT_THAT(error_of(".global .b24 a;"),
              HasSubstr("line 4: .b24: the interpreter does not know"));
  EXPECT_THAT(error_of(".global .texref a;"), HasSubstr(".texref: the interpreter does not know"));
  EXPECT_THAT(error_of(".global .attribute(.managed) .b32 a;"), HasSubstr(".attribute: "));
  EXPECT_THAT(error_of(".global .align 3 .b32 a;"), HasSubstr("3: the alignment must be a power"));
  EXPECT_THAT(error_of(".global .align 0 .b32 a;"),
              HasSubstr("0: the integer 0 is not in the range"));
  EXPECT_THAT(error_of(".global .b32 a[0];"), HasSubstr("0: the integer 0 is not in the range"));
  EXPECT_THAT(error_of(".global .b32 a[];"), HasSubstr("a: the array needs a size"));
  EXPECT_THAT(error_of(".global .b32 a.b;"), HasSubstr("a.b: this is no identifier"));
  EXPECT_THAT(error_of(".local .b32 a;"), HasSubstr(".local: the interpreter does not know"));
}

TEST(PtxDeclaration, HugeVariablesAreErrors) {
  EXPECT_THAT(error_of(".global .b8 a[9223372036854775807];"), HasSubstr("not in the range"));
  EXPECT_THAT(error_of(".global .b64 a[1000000][1000000][1000000];"), HasSubstr("too large"));
  EXPECT_THAT(error_of(".extern .global .b64 a[][1000000][1000000][1000000];"),
              HasSubstr("too large"));
  EXPECT_THAT(error_of(".global .b8 a[1000000000000] = {1};"), HasSubstr("too large for an init"));
  EXPECT_THAT(error_of(".global .b8 a[][1000000000] = {{1}};"), HasSubstr("too large for an init"));
}

TEST(PtxDeclaration, ParametersKeepTheirLayout) {
  const Module module = parse_module(
      ".visible .entry k(\n.param .u64 .ptr .global .align 4 p0,\n.param .u64 .ptr .align 1 p1,\n"
      ".param .align 64 .b8 p2[128],\n.param .f32 p3\n)\n{ ret; }");
  const std::vector<Variable>& parameters = module.functions.at(0).parameters;
  ASSERT_EQ(parameters.size(), 4u);
  EXPECT_EQ(parameters[0].space, Space::param);
  EXPECT_EQ(parameters[0].name, "p0");
  EXPECT_EQ(parameters[0].size(), 8);
  EXPECT_EQ(parameters[0].alignment, 8);
  EXPECT_EQ(parameters[0].line, 5);
  EXPECT_EQ(parameters[1].alignment, 8);
  EXPECT_EQ(parameters[2].size(), 128);
  EXPECT_EQ(parameters[2].alignment, 64);
  EXPECT_EQ(parameters[3].type, "f32");
}

TEST(PtxDeclaration, RegistersAreRangesAndLists) {
  const Module module =
      parse_module(".entry k {\n.reg .pred %p<2>;\n.reg .b64 a, %b<3>, c;\n.reg.f32 d;\nret;\n}");
  std::vector<std::string> registers;
  for (const ptx::Register& reg : module.functions.at(0).registers)
    registers.push_back(std::string(reg.name) + " " + std::string(reg.type));
  EXPECT_THAT(registers, ElementsAre("%p0 pred", "%p1 pred", "a b64", "%b0 b64", "%b1 b64",
                                     "%b2 b64", "c b64", "d f32"));
}

TEST(PtxDeclaration, DamagedRegistersAreErrors) {
  EXPECT_THAT(error_of(".entry k { .reg .b32 %r<0>; }"), HasSubstr("0: the integer 0 is not"));
  EXPECT_THAT(error_of(".entry k { .reg .b32 %r<99999999>; }"), HasSubstr("not in the range"));
  EXPECT_THAT(error_of(".entry k { .reg .b32 %r<4; }"), HasSubstr(";: expected `>`"));
  EXPECT_THAT(error_of(".entry k { .reg .b32 %r<4>, %r3; }"), HasSubstr("declares %r3 twice"));
  EXPECT_THAT(error_of(".entry k { .reg .v2 .b32 %r; }"), HasSubstr(".v2: the interpreter"));
  EXPECT_THAT(error_of(".entry k(.reg .b32 %r) { ret; }"), HasSubstr(".reg: expected `.param`"));
}

}  // namespace
}  // namespace sinter::virtual_gpu::declaration_test
