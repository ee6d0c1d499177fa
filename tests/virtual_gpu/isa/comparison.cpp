// Comparison and selection: sections 9.7.6 and 9.7.7 of the PTX ISA manual.
#include <deque>
#include <string>
#include <vector>

#include "tests/virtual_gpu/isa/comparison_rows.h"

namespace sinter::virtual_gpu {
namespace comparison_rows {
namespace {

using namespace integer_types;
using enum Operator;

template <class T>
T select(T a, T b, bool condition) {
  return condition ? a : b;
}
/// NaN is not >= 0 and selects `b`.
template <class T, class C>
T select_by_sign(T a, T b, C condition) {
  return condition >= 0 ? a : b;
}
template <class T>
T select_by_flushed(T a, T b, float condition) {
  return select_by_sign(a, b, value(Flushed<float>{condition}));
}

constexpr Semantics kSelections[] = {
    lanewise<select<b16>>("selp.b16", "9.7.6.3"),
    lanewise<select<b32>>("selp.b32", "9.7.6.3"),
    lanewise<select<b64>>("selp.b64", "9.7.6.3"),
    lanewise<select<b16>>("selp.u16", "9.7.6.3"),
    lanewise<select<b32>>("selp.u32", "9.7.6.3"),
    lanewise<select<b64>>("selp.u64", "9.7.6.3"),
    lanewise<select<b16>>("selp.s16", "9.7.6.3"),
    lanewise<select<b32>>("selp.s32", "9.7.6.3"),
    lanewise<select<b64>>("selp.s64", "9.7.6.3"),
    lanewise<select<b32>>("selp.f32", "9.7.6.3"),
    lanewise<select<b64>>("selp.f64", "9.7.6.3"),
    lanewise<select_by_sign<b16, s32>>("slct.b16.s32", "9.7.6.4"),
    lanewise<select_by_sign<b32, s32>>("slct.b32.s32", "9.7.6.4"),
    lanewise<select_by_sign<b64, s32>>("slct.b64.s32", "9.7.6.4"),
    lanewise<select_by_sign<b16, s32>>("slct.u16.s32", "9.7.6.4"),
    lanewise<select_by_sign<b32, s32>>("slct.u32.s32", "9.7.6.4"),
    lanewise<select_by_sign<b64, s32>>("slct.u64.s32", "9.7.6.4"),
    lanewise<select_by_sign<b16, s32>>("slct.s16.s32", "9.7.6.4"),
    lanewise<select_by_sign<b32, s32>>("slct.s32.s32", "9.7.6.4"),
    lanewise<select_by_sign<b64, s32>>("slct.s64.s32", "9.7.6.4"),
    lanewise<select_by_sign<b32, s32>>("slct.f32.s32", "9.7.6.4"),
    lanewise<select_by_sign<b64, s32>>("slct.f64.s32", "9.7.6.4"),
    lanewise<select_by_sign<b16, float>>("slct.b16.f32", "9.7.6.4"),
    lanewise<select_by_sign<b32, float>>("slct.b32.f32", "9.7.6.4"),
    lanewise<select_by_sign<b64, float>>("slct.b64.f32", "9.7.6.4"),
    lanewise<select_by_sign<b16, float>>("slct.u16.f32", "9.7.6.4"),
    lanewise<select_by_sign<b32, float>>("slct.u32.f32", "9.7.6.4"),
    lanewise<select_by_sign<b64, float>>("slct.u64.f32", "9.7.6.4"),
    lanewise<select_by_sign<b16, float>>("slct.s16.f32", "9.7.6.4"),
    lanewise<select_by_sign<b32, float>>("slct.s32.f32", "9.7.6.4"),
    lanewise<select_by_sign<b64, float>>("slct.s64.f32", "9.7.6.4"),
    lanewise<select_by_sign<b32, float>>("slct.f32.f32", "9.7.6.4"),
    lanewise<select_by_sign<b64, float>>("slct.f64.f32", "9.7.6.4"),
    lanewise<select_by_flushed<b16>>("slct.ftz.b16.f32", "9.7.6.4"),
    lanewise<select_by_flushed<b32>>("slct.ftz.b32.f32", "9.7.6.4"),
    lanewise<select_by_flushed<b64>>("slct.ftz.b64.f32", "9.7.6.4"),
    lanewise<select_by_flushed<b16>>("slct.ftz.u16.f32", "9.7.6.4"),
    lanewise<select_by_flushed<b32>>("slct.ftz.u32.f32", "9.7.6.4"),
    lanewise<select_by_flushed<b64>>("slct.ftz.u64.f32", "9.7.6.4"),
    lanewise<select_by_flushed<b16>>("slct.ftz.s16.f32", "9.7.6.4"),
    lanewise<select_by_flushed<b32>>("slct.ftz.s32.f32", "9.7.6.4"),
    lanewise<select_by_flushed<b64>>("slct.ftz.s64.f32", "9.7.6.4"),
    lanewise<select_by_flushed<b32>>("slct.ftz.f32.f32", "9.7.6.4"),
    lanewise<select_by_flushed<b64>>("slct.ftz.f64.f32", "9.7.6.4"),
};

constexpr Comparison kComparisons[] = {
    comparison<eq, b16>("setp.eq.b16"),
    comparison<ne, b16>("setp.ne.b16"),
    comparison<eq, b32>("setp.eq.b32"),
    comparison<ne, b32>("setp.ne.b32"),
    comparison<eq, b64>("setp.eq.b64"),
    comparison<ne, b64>("setp.ne.b64"),
    comparison<eq, u16>("setp.eq.u16"),
    comparison<ne, u16>("setp.ne.u16"),
    comparison<lt, u16>("setp.lt.u16"),
    comparison<le, u16>("setp.le.u16"),
    comparison<gt, u16>("setp.gt.u16"),
    comparison<ge, u16>("setp.ge.u16"),
    comparison<lt, u16>("setp.lo.u16"),
    comparison<le, u16>("setp.ls.u16"),
    comparison<gt, u16>("setp.hi.u16"),
    comparison<ge, u16>("setp.hs.u16"),
    comparison<eq, u32>("setp.eq.u32"),
    comparison<ne, u32>("setp.ne.u32"),
    comparison<lt, u32>("setp.lt.u32"),
    comparison<le, u32>("setp.le.u32"),
    comparison<gt, u32>("setp.gt.u32"),
    comparison<ge, u32>("setp.ge.u32"),
    comparison<lt, u32>("setp.lo.u32"),
    comparison<le, u32>("setp.ls.u32"),
    comparison<gt, u32>("setp.hi.u32"),
    comparison<ge, u32>("setp.hs.u32"),
    comparison<eq, u64>("setp.eq.u64"),
    comparison<ne, u64>("setp.ne.u64"),
    comparison<lt, u64>("setp.lt.u64"),
    comparison<le, u64>("setp.le.u64"),
    comparison<gt, u64>("setp.gt.u64"),
    comparison<ge, u64>("setp.ge.u64"),
    comparison<lt, u64>("setp.lo.u64"),
    comparison<le, u64>("setp.ls.u64"),
    comparison<gt, u64>("setp.hi.u64"),
    comparison<ge, u64>("setp.hs.u64"),
    comparison<eq, s16>("setp.eq.s16"),
    comparison<ne, s16>("setp.ne.s16"),
    comparison<lt, s16>("setp.lt.s16"),
    comparison<le, s16>("setp.le.s16"),
    comparison<gt, s16>("setp.gt.s16"),
    comparison<ge, s16>("setp.ge.s16"),
    comparison<eq, s32>("setp.eq.s32"),
    comparison<ne, s32>("setp.ne.s32"),
    comparison<lt, s32>("setp.lt.s32"),
    comparison<le, s32>("setp.le.s32"),
    comparison<gt, s32>("setp.gt.s32"),
    comparison<ge, s32>("setp.ge.s32"),
    comparison<eq, s64>("setp.eq.s64"),
    comparison<ne, s64>("setp.ne.s64"),
    comparison<lt, s64>("setp.lt.s64"),
    comparison<le, s64>("setp.le.s64"),
    comparison<gt, s64>("setp.gt.s64"),
    comparison<ge, s64>("setp.ge.s64"),
    comparison<eq, float>("setp.eq.f32"),
    comparison<ne, float>("setp.ne.f32"),
    comparison<lt, float>("setp.lt.f32"),
    comparison<le, float>("setp.le.f32"),
    comparison<gt, float>("setp.gt.f32"),
    comparison<ge, float>("setp.ge.f32"),
    comparison<equ, float>("setp.equ.f32"),
    comparison<neu, float>("setp.neu.f32"),
    comparison<ltu, float>("setp.ltu.f32"),
    comparison<leu, float>("setp.leu.f32"),
    comparison<gtu, float>("setp.gtu.f32"),
    comparison<geu, float>("setp.geu.f32"),
    comparison<num, float>("setp.num.f32"),
    comparison<nan, float>("setp.nan.f32"),
    comparison<eq, Flushed<float>>("setp.eq.ftz.f32"),
    comparison<ne, Flushed<float>>("setp.ne.ftz.f32"),
    comparison<lt, Flushed<float>>("setp.lt.ftz.f32"),
    comparison<le, Flushed<float>>("setp.le.ftz.f32"),
    comparison<gt, Flushed<float>>("setp.gt.ftz.f32"),
    comparison<ge, Flushed<float>>("setp.ge.ftz.f32"),
    comparison<equ, Flushed<float>>("setp.equ.ftz.f32"),
    comparison<neu, Flushed<float>>("setp.neu.ftz.f32"),
    comparison<ltu, Flushed<float>>("setp.ltu.ftz.f32"),
    comparison<leu, Flushed<float>>("setp.leu.ftz.f32"),
    comparison<gtu, Flushed<float>>("setp.gtu.ftz.f32"),
    comparison<geu, Flushed<float>>("setp.geu.ftz.f32"),
    comparison<num, Flushed<float>>("setp.num.ftz.f32"),
    comparison<nan, Flushed<float>>("setp.nan.ftz.f32"),
    comparison<eq, double>("setp.eq.f64"),
    comparison<ne, double>("setp.ne.f64"),
    comparison<lt, double>("setp.lt.f64"),
    comparison<le, double>("setp.le.f64"),
    comparison<gt, double>("setp.gt.f64"),
    comparison<ge, double>("setp.ge.f64"),
    comparison<equ, double>("setp.equ.f64"),
    comparison<neu, double>("setp.neu.f64"),
    comparison<ltu, double>("setp.ltu.f64"),
    comparison<leu, double>("setp.leu.f64"),
    comparison<gtu, double>("setp.gtu.f64"),
    comparison<geu, double>("setp.geu.f64"),
    comparison<num, double>("setp.num.f64"),
    comparison<nan, double>("setp.nan.f64"),
    comparison<eq, f16>("setp.eq.f16"),
    comparison<ne, f16>("setp.ne.f16"),
    comparison<lt, f16>("setp.lt.f16"),
    comparison<le, f16>("setp.le.f16"),
    comparison<gt, f16>("setp.gt.f16"),
    comparison<ge, f16>("setp.ge.f16"),
    comparison<equ, f16>("setp.equ.f16"),
    comparison<neu, f16>("setp.neu.f16"),
    comparison<ltu, f16>("setp.ltu.f16"),
    comparison<leu, f16>("setp.leu.f16"),
    comparison<gtu, f16>("setp.gtu.f16"),
    comparison<geu, f16>("setp.geu.f16"),
    comparison<num, f16>("setp.num.f16"),
    comparison<nan, f16>("setp.nan.f16"),
    comparison<eq, Flushed<f16>>("setp.eq.ftz.f16"),
    comparison<ne, Flushed<f16>>("setp.ne.ftz.f16"),
    comparison<lt, Flushed<f16>>("setp.lt.ftz.f16"),
    comparison<le, Flushed<f16>>("setp.le.ftz.f16"),
    comparison<gt, Flushed<f16>>("setp.gt.ftz.f16"),
    comparison<ge, Flushed<f16>>("setp.ge.ftz.f16"),
    comparison<equ, Flushed<f16>>("setp.equ.ftz.f16"),
    comparison<neu, Flushed<f16>>("setp.neu.ftz.f16"),
    comparison<ltu, Flushed<f16>>("setp.ltu.ftz.f16"),
    comparison<leu, Flushed<f16>>("setp.leu.ftz.f16"),
    comparison<gtu, Flushed<f16>>("setp.gtu.ftz.f16"),
    comparison<geu, Flushed<f16>>("setp.geu.ftz.f16"),
    comparison<num, Flushed<f16>>("setp.num.ftz.f16"),
    comparison<nan, Flushed<f16>>("setp.nan.ftz.f16"),
    comparison<eq, bf16>("setp.eq.bf16"),
    comparison<ne, bf16>("setp.ne.bf16"),
    comparison<lt, bf16>("setp.lt.bf16"),
    comparison<le, bf16>("setp.le.bf16"),
    comparison<gt, bf16>("setp.gt.bf16"),
    comparison<ge, bf16>("setp.ge.bf16"),
    comparison<equ, bf16>("setp.equ.bf16"),
    comparison<neu, bf16>("setp.neu.bf16"),
    comparison<ltu, bf16>("setp.ltu.bf16"),
    comparison<leu, bf16>("setp.leu.bf16"),
    comparison<gtu, bf16>("setp.gtu.bf16"),
    comparison<geu, bf16>("setp.geu.bf16"),
    comparison<num, bf16>("setp.num.bf16"),
    comparison<nan, bf16>("setp.nan.bf16"),
    comparison<eq, Pair<f16>>("setp.eq.f16x2"),
    comparison<ne, Pair<f16>>("setp.ne.f16x2"),
    comparison<lt, Pair<f16>>("setp.lt.f16x2"),
    comparison<le, Pair<f16>>("setp.le.f16x2"),
    comparison<gt, Pair<f16>>("setp.gt.f16x2"),
    comparison<ge, Pair<f16>>("setp.ge.f16x2"),
    comparison<equ, Pair<f16>>("setp.equ.f16x2"),
    comparison<neu, Pair<f16>>("setp.neu.f16x2"),
    comparison<ltu, Pair<f16>>("setp.ltu.f16x2"),
    comparison<leu, Pair<f16>>("setp.leu.f16x2"),
    comparison<gtu, Pair<f16>>("setp.gtu.f16x2"),
    comparison<geu, Pair<f16>>("setp.geu.f16x2"),
    comparison<num, Pair<f16>>("setp.num.f16x2"),
    comparison<nan, Pair<f16>>("setp.nan.f16x2"),
    comparison<eq, Pair<Flushed<f16>>>("setp.eq.ftz.f16x2"),
    comparison<ne, Pair<Flushed<f16>>>("setp.ne.ftz.f16x2"),
    comparison<lt, Pair<Flushed<f16>>>("setp.lt.ftz.f16x2"),
    comparison<le, Pair<Flushed<f16>>>("setp.le.ftz.f16x2"),
    comparison<gt, Pair<Flushed<f16>>>("setp.gt.ftz.f16x2"),
    comparison<ge, Pair<Flushed<f16>>>("setp.ge.ftz.f16x2"),
    comparison<equ, Pair<Flushed<f16>>>("setp.equ.ftz.f16x2"),
    comparison<neu, Pair<Flushed<f16>>>("setp.neu.ftz.f16x2"),
    comparison<ltu, Pair<Flushed<f16>>>("setp.ltu.ftz.f16x2"),
    comparison<leu, Pair<Flushed<f16>>>("setp.leu.ftz.f16x2"),
    comparison<gtu, Pair<Flushed<f16>>>("setp.gtu.ftz.f16x2"),
    comparison<geu, Pair<Flushed<f16>>>("setp.geu.ftz.f16x2"),
    comparison<num, Pair<Flushed<f16>>>("setp.num.ftz.f16x2"),
    comparison<nan, Pair<Flushed<f16>>>("setp.nan.ftz.f16x2"),
    comparison<eq, Pair<bf16>>("setp.eq.bf16x2"),
    comparison<ne, Pair<bf16>>("setp.ne.bf16x2"),
    comparison<lt, Pair<bf16>>("setp.lt.bf16x2"),
    comparison<le, Pair<bf16>>("setp.le.bf16x2"),
    comparison<gt, Pair<bf16>>("setp.gt.bf16x2"),
    comparison<ge, Pair<bf16>>("setp.ge.bf16x2"),
    comparison<equ, Pair<bf16>>("setp.equ.bf16x2"),
    comparison<neu, Pair<bf16>>("setp.neu.bf16x2"),
    comparison<ltu, Pair<bf16>>("setp.ltu.bf16x2"),
    comparison<leu, Pair<bf16>>("setp.leu.bf16x2"),
    comparison<gtu, Pair<bf16>>("setp.gtu.bf16x2"),
    comparison<geu, Pair<bf16>>("setp.geu.bf16x2"),
    comparison<num, Pair<bf16>>("setp.num.bf16x2"),
    comparison<nan, Pair<bf16>>("setp.nan.bf16x2"),
};

/// `setp.lt.ftz.f32`, `and` -> `setp.lt.and.ftz.f32`.
std::string with_combination(std::string_view opcode, std::string_view combination) {
  std::string result(opcode);
  if (!combination.empty()) result.insert(result.find('.', 5), "." + std::string(combination));
  return result;
}
/// `setp.lt.ftz.f32`, `u32` -> `set.lt.ftz.u32.f32`.
std::string set_opcode(std::string_view setp_opcode, std::string_view result_type) {
  std::string result = "set" + std::string(setp_opcode.substr(4));
  return result.insert(result.rfind('.'), "." + std::string(result_type));
}

struct Table {
  std::deque<std::string> opcodes;
  std::vector<Semantics> rows;
  void add(std::string opcode, Semantics row) {
    row.opcode = opcodes.emplace_back(std::move(opcode));
    rows.push_back(row);
  }
};

void add_rows(Table& table, const Comparison& comparison) {
  constexpr std::array<std::string_view, kCombinations> kNames = {"", "and", "or", "xor"};
  Semantics row = {.opcode = {},
                   .execute = nullptr,
                   .results = {Width::word},
                   .operands = {comparison.operands, comparison.operands},
                   .section = comparison.is_half ? "9.7.7.1" : "9.7.6.1"};
  for (std::size_t i = 0; i < comparison.set_types.size(); ++i) {
    row.execute = comparison.set[i];
    table.add(set_opcode(comparison.opcode, comparison.set_types[i].name), row);
  }
  row.results = {Width::predicate, Width::predicate};
  row.section = comparison.is_half ? "9.7.7.2" : "9.7.6.2";
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    row.execute = comparison.setp[i];
    if (i > 0) row.operands[2] = Width::predicate;
    table.add(with_combination(comparison.opcode, kNames[i]), row);
  }
}

Table make_table() {
  Table table;
  table.rows.assign(std::begin(kSelections), std::end(kSelections));
  for (const Comparison& comparison : kComparisons) add_rows(table, comparison);
  return table;
}

}  // namespace
}  // namespace comparison_rows

std::span<const Semantics> comparison_semantics() {
  static const comparison_rows::Table table = comparison_rows::make_table();
  return table.rows;
}

}  // namespace sinter::virtual_gpu
