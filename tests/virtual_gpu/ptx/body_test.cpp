// Tests of instructions, their operands, labels and nested blocks.
#include "tests/virtual_gpu/ptx/body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/virtual_gpu/ptx/error.h"

namespace sinter::virtual_gpu::body_test {
namespace {

using ptx::Instruction;
using ptx::Module;
using ptx::Operand;
using ptx::OperandKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

/// A kernel whose body begins in line 4.
Module parse_body(const std::string& statements) {
  return ptx::parse(".version 9.0\n.target sm_90\n.entry k {\n" + statements + "\n}");
}

/// The first instruction, with the module that has its names.
struct Parsed {
  Module module;
  const Instruction& instruction() const { return module.functions.at(0).instructions.at(0); }
  const Operand& operand(std::size_t index) const { return instruction().operands.at(index); }
};
Parsed parse_instruction(const std::string& text) { return {.module = parse_body(text)}; }

std::uint64_t bits(const std::string& instruction, std::size_t operand) {
  return parse_instruction(instruction).operand(operand).bits;
}

std::string error_of(const std::string& statements) {
  try {
    parse_body(statements);
  } catch (const PtxError& error) {
    return error.what();
  }
  return {};
}

TEST(PtxBody, InstructionsKeepOpcodeAndLine) {
  const Parsed parsed = parse_instruction("\nld.global.L2::128B.v2.u32 \n{%r1, _},\n[%rd1];");
  const Instruction& load = parsed.instruction();
  EXPECT_EQ(load.opcode, "ld.global.L2::128B.v2.u32");
  EXPECT_THAT(load.parts, ElementsAre("ld", "global", "L2::128B", "v2", "u32"));
  EXPECT_EQ(load.line, 5);
  EXPECT_TRUE(load.guard.empty());
  ASSERT_EQ(load.operands.size(), 2u);
  EXPECT_EQ(load.operands[0].kind, OperandKind::vector);
  ASSERT_EQ(load.operands[0].elements.size(), 2u);
  EXPECT_EQ(load.operands[0].elements[0].name, "%r1");
  EXPECT_EQ(load.operands[0].elements[1].name, "_");
}

TEST(PtxBody, InstructionsMayHaveNoOperands) {
  const Parsed parsed = parse_instruction("griddepcontrol.wait;");
  EXPECT_THAT(parsed.instruction().operands, IsEmpty());
  EXPECT_THAT(parsed.instruction().parts, ElementsAre("griddepcontrol", "wait"));
}

TEST(PtxBody, GuardsArePredicatesOrTheirComplements) {
  const Parsed plain = parse_instruction("@%p1 bra L;");
  EXPECT_EQ(plain.instruction().guard, "%p1");
  EXPECT_FALSE(plain.instruction().guard_is_negated);
  const Parsed negated = parse_instruction("@!%p2 bra.uni L;");
  EXPECT_EQ(negated.instruction().guard, "%p2");
  EXPECT_TRUE(negated.instruction().guard_is_negated);
  EXPECT_EQ(negated.operand(0).name, "L");
}

TEST(PtxBody, OperandsAreNamesNegationsAndPairs) {
  const Parsed parsed = parse_instruction("setp.lt.and.s32 %p1|%p2, %tid.x, variable+4, !%p3;");
  EXPECT_EQ(parsed.operand(0).name, "%p1");
  EXPECT_EQ(parsed.operand(0).second, "%p2");
  EXPECT_EQ(parsed.operand(1).name, "%tid.x");
  EXPECT_EQ(parsed.operand(1).bits, 0u);
  EXPECT_EQ(parsed.operand(2).kind, OperandKind::name);
  EXPECT_EQ(parsed.operand(2).bits, 4u);
  EXPECT_EQ(parsed.operand(3).name, "%p3");
  EXPECT_TRUE(parsed.operand(3).is_negated);
}

TEST(PtxBody, PairsMayDropOneDestination) {
  const Parsed parsed = parse_instruction("setp.eq.s32 _ | %p2, %r1, 0;");
  EXPECT_EQ(parsed.operand(0).name, "_");
  EXPECT_EQ(parsed.operand(0).second, "%p2");
}

TEST(PtxBody, AddressesHaveBaseAndOffset) {
  const Parsed parsed = parse_instruction("x [%rd1], [a+8], [%rd2+-16], [a-3], [64], [%r1+2*4];");
  const auto has = [&](std::size_t index, std::string_view name, std::uint64_t offset) {
    const Operand& operand = parsed.operand(index);
    return operand.kind == OperandKind::address && operand.name == name && operand.bits == offset;
  };
  EXPECT_TRUE(has(0, "%rd1", 0));
  EXPECT_TRUE(has(1, "a", 8));
  EXPECT_TRUE(has(2, "%rd2", 0xfffffffffffffff0u));
  EXPECT_TRUE(has(3, "a", 0xfffffffffffffffdu));
  EXPECT_TRUE(has(4, "", 64));
  EXPECT_TRUE(has(5, "%r1", 8));
}

TEST(PtxBody, ImmediatesAreIntegersInEveryBase) {
  EXPECT_EQ(bits("mov.u32 %r1, 42;", 1), 42u);
  EXPECT_EQ(bits("mov.u32 %r1, -1;", 1), 0xffffffffffffffffu);
  EXPECT_EQ(bits("mov.u32 %r1, 0xFFFFU;", 1), 0xffffu);
  EXPECT_EQ(bits("mov.u32 %r1, 017;", 1), 15u);
  EXPECT_EQ(bits("mov.u32 %r1, 0b110;", 1), 6u);
  EXPECT_EQ(bits("mov.u64 %rd1, 18446744073709551615;", 1), 0xffffffffffffffffu);
  EXPECT_EQ(bits("mov.s64 %rd1, -9223372036854775808;", 1), 0x8000000000000000u);
  EXPECT_EQ(bits("mov.u32 %r1, WARP_SZ;", 1), 32u);
}

TEST(PtxBody, FloatsHaveTheSizeOfTheInstruction) {
  EXPECT_EQ(bits("mov.f32 %f1, 0f3F800000;", 1), 0x3f800000u);
  EXPECT_EQ(bits("mov.f32 %f1, 0F7FC00001;", 1), 0x7fc00001u);
  EXPECT_EQ(bits("mov.f32 %f1, 1.0;", 1), 0x3f800000u);
  EXPECT_EQ(bits("mov.f32 %f1, -0.5;", 1), 0xbf000000u);
  EXPECT_EQ(bits("mov.f32 %f1, -0f3F800000;", 1), 0xbf800000u);
  EXPECT_EQ(bits("mov.f64 %d1, 0d8000000000000000;", 1), 0x8000000000000000u);
  EXPECT_EQ(bits("mov.f64 %d1, 1.0;", 1), 0x3ff0000000000000u);
  EXPECT_EQ(bits("add.f64 %d1, %d2, 0f3F800000;", 2), 0x3ff0000000000000u);
  EXPECT_EQ(bits("slct.f32.s32 %f1, 1.0, %f2, %r1;", 1), 0x3f800000u);
}

TEST(PtxBody, FloatsOfUntypedInstructionsKeepTheSizeOfTheText) {
  EXPECT_EQ(bits("mov.b32 %r1, 0f3F800000;", 1), 0x3f800000u);
  EXPECT_EQ(bits("mov.b64 %rd1, 0d3FF0000000000000;", 1), 0x3ff0000000000000u);
}

TEST(PtxBody, TheFractionOfAPolicyIsAnF32) {
  EXPECT_EQ(bits("createpolicy.fractional.L2::evict_last.b64 %rd1, 0.5;", 1), 0x3f000000u);
}

TEST(PtxBody, IntegersInFloatArithmeticAreErrors) {
  EXPECT_THAT(error_of("add.f32 %f1, %f2, 1;"),
              HasSubstr("line 4: 1: the instruction needs a float"));
  EXPECT_THAT(error_of("st.shared.v2.f32 [a], {%f1, 0};"), HasSubstr("needs a float"));
  EXPECT_EQ(bits("cvt.rn.f32.s32 %f1, 5;", 1), 5u);
  EXPECT_EQ(bits("slct.f32.s32 %f1, %f2, %f3, 5;", 3), 5u);
}

TEST(PtxBody, CallsHaveListsOfResultsAndArguments) {
  const Parsed parsed = parse_instruction("call.uni (retval0),\nfunction,\n(\nparam0,\nparam1\n);");
  ASSERT_EQ(parsed.instruction().operands.size(), 3u);
  EXPECT_EQ(parsed.operand(0).kind, OperandKind::list);
  EXPECT_EQ(parsed.operand(0).elements.at(0).name, "retval0");
  EXPECT_EQ(parsed.operand(1).name, "function");
  ASSERT_EQ(parsed.operand(2).elements.size(), 2u);
  EXPECT_EQ(parsed.operand(2).elements[1].name, "param1");
}

TEST(PtxBody, LabelsNameTheNextInstruction) {
  const Module module = parse_body("A: ret;\nB:\nC: bra A;\nD:");
  EXPECT_THAT(module.functions.at(0).labels,
              ElementsAre(Pair("A", 0u), Pair("B", 1u), Pair("C", 1u), Pair("D", 2u)));
}

TEST(PtxBody, BranchTablesListTheirTargets) {
  const Module module = parse_body("table: .branchtargets A, B;\nbrx.idx %r1, table;\nA: B: ret;");
  const ptx::Function& kernel = module.functions.at(0);
  EXPECT_THAT(kernel.branch_tables, ElementsAre(Pair("table", ElementsAre("A", "B"))));
  EXPECT_THAT(kernel.labels, ElementsAre(Pair("A", 1u), Pair("B", 1u)));
  EXPECT_EQ(kernel.instructions.at(0).operands.at(1).name, "table");
}

TEST(PtxBody, VariablesOfTheBodyBelongToTheFunction) {
  const Module module = parse_body(
      ".local .align 8 .b8 __local_depot0[72];\n.shared .b32 s[4];\n.extern .shared .b8 d[];");
  const auto& variables = module.functions.at(0).variables;
  ASSERT_EQ(variables.size(), 3u);
  EXPECT_EQ(variables[0].space, ptx::Space::local);
  EXPECT_EQ(variables[0].size(), 72);
  EXPECT_EQ(variables[1].space, ptx::Space::shared);
  EXPECT_TRUE(variables[2].is_extern);
  EXPECT_THAT(module.variables, IsEmpty());
}

TEST(PtxBody, NestedRegistersHideOuterOnes) {
  const Module module = parse_body(
      ".reg .b32 %r<3>;\n"
      "mov.b32 %r1, %r2;\n"
      "{ mov.b32 %r2, 0; .reg .b32 %r1; mov.b32 %r1, %r2; { add.s32 %r2, %r1, %r1; } }\n"
      "mov.b32 %r1, %r2;");
  const auto& code = module.functions.at(0).instructions;
  ASSERT_EQ(code.size(), 5u);
  EXPECT_EQ(code[0].operands[0].name, "%r1");
  EXPECT_EQ(code[2].operands[0].name, "%r1#1");
  EXPECT_EQ(code[2].operands[1].name, "%r2");
  EXPECT_EQ(code[3].operands[1].name, "%r1#1");
  EXPECT_EQ(code[4].operands[0].name, "%r1");
}

TEST(PtxBody, UsesBeforeANestedDeclarationMeanTheOuterName) {
  const Module module = parse_body(".reg .b32 a;\n{ mov.b32 a, 0; .reg .b32 a; mov.b32 a, 1; }");
  const auto& code = module.functions.at(0).instructions;
  EXPECT_EQ(code.at(0).operands[0].name, "a");
  EXPECT_EQ(code.at(1).operands[0].name, "a#1");
}

TEST(PtxBody, SiblingBlocksDeclareTheSameNames) {
  const Module module = parse_body(
      "{ .reg .pred %p<2>; @%p1 ret; }\n"
      "{ .param .b32 param0; st.param.b32 [param0+4], {%r1, q}; .reg .pred %p1;\n"
      "@!%p1 call (param0), f, (param0); setp.eq.s32 %p1|%p1, %r1, 0; }");
  const ptx::Function& kernel = module.functions.at(0);
  std::vector<std::string_view> registers;
  for (const ptx::Register& reg : kernel.registers) registers.push_back(reg.name);
  EXPECT_THAT(registers, ElementsAre("%p0#1", "%p1#1", "%p1#2"));
  EXPECT_EQ(kernel.variables.at(0).name, "param0#2");
  const auto& code = kernel.instructions;
  EXPECT_EQ(code.at(0).guard, "%p1#1");
  EXPECT_EQ(code.at(1).operands[0].name, "param0#2");
  EXPECT_EQ(code.at(1).operands[0].bits, 4u);
  EXPECT_EQ(code.at(1).operands[1].elements[1].name, "q");
  EXPECT_EQ(code.at(2).guard, "%p1#2");
  EXPECT_EQ(code.at(2).operands[0].elements[0].name, "param0#2");
  EXPECT_EQ(code.at(2).operands[1].name, "f");
  EXPECT_EQ(code.at(3).operands[0].second, "%p1#2");
}

TEST(PtxBody, NestedLabelsAreLocalAlsoBeforeTheirPlace) {
  const Module module = parse_body(
      "{ WAIT: @p bra DONE; bra WAIT; DONE: }\n"
      "{ WAIT: @p bra DONE; { bra WAIT; bra END; } DONE: }\n"
      "END: bra DONE;");
  const ptx::Function& kernel = module.functions.at(0);
  EXPECT_THAT(kernel.labels,
              UnorderedElementsAre(Pair("WAIT#1", 0u), Pair("DONE#1", 2u), Pair("WAIT#2", 2u),
                                   Pair("DONE#2", 5u), Pair("END", 5u)));
  std::vector<std::string_view> targets;
  for (const Instruction& branch : kernel.instructions) targets.push_back(branch.operands[0].name);
  EXPECT_THAT(targets, ElementsAre("DONE#1", "WAIT#1", "DONE#2", "WAIT#2", "END", "DONE"));
}

TEST(PtxBody, NestedBranchTablesMeanNestedLabels) {
  const Module module = parse_body("{ t: .branchtargets A, B; brx.idx %r1, t; A: ret; }\nB: ret;");
  const ptx::Function& kernel = module.functions.at(0);
  EXPECT_THAT(kernel.branch_tables, ElementsAre(Pair("t#1", ElementsAre("A#1", "B"))));
  EXPECT_EQ(kernel.instructions.at(0).operands[1].name, "t#1");
}

TEST(PtxBody, AnnotationsChangeNothing) {
  const Module module = parse_body(
      ".loc 1 15 3\n.loc 2 7 1, function_name $L__info0+4, inlined_at 1 10 5\n"
      ".pragma \"nounroll\";\n;\nret;");
  EXPECT_EQ(module.functions.at(0).instructions.size(), 1u);
}

TEST(PtxBody, DamagedStatementsAreErrors) {
  EXPECT_THAT(error_of("ret"), HasSubstr("line 5: }: expected an operand"));
  EXPECT_THAT(error_of("add.s32 %r1, %r2"), HasSubstr("}: expected `;`"));
  EXPECT_THAT(error_of("add.s32 %r1 %r2;"), HasSubstr("%r2: expected `;`"));
  EXPECT_THAT(error_of("add.s32 %r1,, %r2;"), HasSubstr(",: expected an operand"));
  EXPECT_THAT(error_of("%r1.x a;"), HasSubstr("%r1.x: expected an opcode"));
  EXPECT_THAT(error_of("@ret;"), HasSubstr(";: expected an opcode"));
  EXPECT_THAT(error_of("@1 ret;"), HasSubstr("1: expected a predicate"));
  EXPECT_THAT(error_of("42;"), HasSubstr("42: expected a statement of k"));
  EXPECT_THAT(error_of("{ ret;"), HasSubstr("end of the text: expected a statement of k"));
  EXPECT_THAT(error_of("A: A: ret;"), HasSubstr("A: the block declares A twice"));
  EXPECT_THAT(error_of("a.b: ret;"), HasSubstr("a.b: this is no identifier"));
  EXPECT_THAT(error_of(std::string(1000, '{')), HasSubstr("{: the blocks nest too deeply"));
}

TEST(PtxBody, DamagedOperandsAreErrors) {
  EXPECT_THAT(error_of("ld.u32 %r1, [%rd1;"), HasSubstr(";: expected `]`"));
  EXPECT_THAT(error_of("ld.u32 %r1, [];"), HasSubstr("]: expected an address"));
  EXPECT_THAT(error_of("ld.u32 %r1, [%rd1+%rd2];"), HasSubstr("%rd2: expected a constant"));
  EXPECT_THAT(error_of("ld.u32 %r1, [%rd1+1.0];"), HasSubstr("1.0: an offset must be an integer"));
  EXPECT_THAT(error_of("ld.v2.u32 {%r1, [%rd1];"), HasSubstr("[: expected an operand"));
  EXPECT_THAT(error_of("ld.v2.u32 {}, [%rd1];"), HasSubstr("}: expected an operand"));
  EXPECT_THAT(error_of("mov.b64 %rd1, {{%r1}};"), HasSubstr("{: expected an operand"));
  EXPECT_THAT(error_of("mov.u32 %r1, -%r2;"), HasSubstr("%r2: expected a constant"));
  EXPECT_THAT(error_of("mov.u32 %r1, a[1];"), HasSubstr("[: the interpreter knows no array"));
  EXPECT_THAT(error_of("x [t, {%r1}];"), HasSubstr(",: the interpreter knows no tensor addresses"));
}

TEST(PtxBody, UnknownDirectivesAreErrors) {
  EXPECT_THAT(error_of("\n.callprototype;"),
              HasSubstr("line 5: .callprototype: the interpreter does not know this directive"));
  EXPECT_THAT(error_of("L: .calltargets f;"), HasSubstr(".calltargets: the interpreter"));
  EXPECT_THAT(error_of(".loc 1 2;"), HasSubstr(";: expected a constant"));
}

}  // namespace
}  // namespace sinter::virtual_gpu::body_test
