// Places of registers: live ranges, widths, and the number of live registers.
#include <gtest/gtest.h>

#include <set>

#include "tests/virtual_gpu/execution/tests/test_kernels.h"
#include "tests/virtual_gpu/program/draft.h"

namespace sinter::virtual_gpu::allocate_registers_test {
namespace {

/// A kernel whose drafts are added one by one. Each reads some registers and writes one.
struct Drafts {
  DraftKernel draft;
  Slot write(Width width, std::vector<Slot> sources = {}) {
    const Slot slot = draft.new_register(width);
    add(slot, sources);
    return slot;
  }
  void add(Slot result, std::vector<Slot> sources, Slot guard = kNoSlot) {
    Draft one;
    one.operation.results[0] = result;
    for (std::size_t i = 0; i < sources.size(); ++i) one.operation.operands[i] = sources[i];
    one.operation.guard = guard;
    draft.drafts.push_back(std::move(one));
  }
  void branch(std::int32_t target, Slot guard) {
    Draft one;
    one.operation.guard = guard;
    one.ends_block = true;
    one.targets = {target};
    draft.drafts.push_back(std::move(one));
  }
  Slot result(std::size_t i) const { return draft.drafts.at(i).operation.results[0]; }
  Slot operand(std::size_t i, std::size_t k) const {
    return draft.drafts.at(i).operation.operands.at(k);
  }
};

TEST(AllocateRegisters, ADeadRegisterGivesItsPlaceToTheNext) {
  Drafts kernel;
  const Slot a = kernel.write(Width::word);
  const Slot b = kernel.write(Width::word, {a});
  kernel.add(kNoSlot, {b});
  allocate_registers(kernel.draft);
  EXPECT_EQ(kernel.result(0), kernel.result(1));
  EXPECT_EQ(kernel.operand(1, 0), kernel.result(0));
  EXPECT_EQ(kernel.draft.kernel.register_bytes, 128);
}

TEST(AllocateRegisters, LiveRegistersHaveDifferentPlaces) {
  Drafts kernel;
  const Slot a = kernel.write(Width::word);
  const Slot b = kernel.write(Width::word);
  const Slot c = kernel.write(Width::word);
  kernel.add(kNoSlot, {a, b, c});
  allocate_registers(kernel.draft);
  EXPECT_EQ((std::set{kernel.result(0), kernel.result(1), kernel.result(2)}).size(), 3u);
}

TEST(AllocateRegisters, AnUnusedResultOverwritesNoLiveRegister) {
  Drafts kernel;
  const Slot a = kernel.write(Width::word);
  kernel.write(Width::word);
  kernel.add(kNoSlot, {a});
  allocate_registers(kernel.draft);
  EXPECT_NE(kernel.result(0), kernel.result(1));
}

TEST(AllocateRegisters, WidthsNeverShareBytes) {
  // Each register dies before the next begins, so one pool would give all the same bytes.
  Drafts kernel;
  std::set<std::int64_t> of_words, of_double_words, of_predicates;
  for (int i = 0; i < 3; ++i)
    for (const Width width : {Width::word, Width::predicate, Width::double_word})
      kernel.add(kNoSlot, {kernel.write(width)});
  allocate_registers(kernel.draft);
  const auto cover = [](std::set<std::int64_t>& bytes, Slot slot, int count) {
    for (int i = 0; i < count; ++i) bytes.insert(slot + i);
  };
  for (std::size_t i = 0; i < 18; i += 6) {
    cover(of_words, kernel.result(i), 128);
    cover(of_predicates, kernel.result(i + 2), 4);
    cover(of_double_words, kernel.result(i + 4), 256);
  }
  std::set<std::int64_t> all = of_words;
  all.insert(of_predicates.begin(), of_predicates.end());
  all.insert(of_double_words.begin(), of_double_words.end());
  EXPECT_EQ(all.size(), of_words.size() + of_predicates.size() + of_double_words.size());
  EXPECT_LT(*all.rbegin(), kernel.draft.kernel.register_bytes);
}

TEST(AllocateRegisters, AValueThatALoopReadsLivesToItsEnd) {
  // a is read at the begin of the loop body only, and b is written behind that read.
  Drafts kernel;
  const Slot p = kernel.write(Width::predicate);
  const Slot a = kernel.write(Width::word);  // draft 1
  kernel.add(kNoSlot, {a});                  // 2: the loop
  const Slot b = kernel.write(Width::word);  // 3
  kernel.add(kNoSlot, {b});
  kernel.branch(2, p);
  kernel.add(kNoSlot, {});
  allocate_registers(kernel.draft);
  EXPECT_NE(kernel.result(1), kernel.result(3));
}

TEST(AllocateRegisters, AGuardedDefinitionKeepsTheOldValue) {
  Drafts kernel;
  const Slot p = kernel.write(Width::predicate);
  const Slot a = kernel.write(Width::word);  // draft 1
  const Slot b = kernel.write(Width::word);  // 2
  kernel.add(kNoSlot, {b});
  kernel.add(a, {}, p);  // 4
  kernel.add(kNoSlot, {a});
  allocate_registers(kernel.draft);
  EXPECT_NE(kernel.result(1), kernel.result(2));
  EXPECT_EQ(kernel.result(1), kernel.result(4));
}

TEST(AllocateRegisters, AGuardedDefinitionInALoopKeepsTheValueToItsEnd) {
  // Lanes without the guard keep the value of the round before, which b must not overwrite.
  Drafts kernel;
  const Slot p = kernel.write(Width::predicate);
  const Slot a = kernel.write(Width::word);  // draft 1
  kernel.add(a, {}, p);                      // 2: the loop
  kernel.add(kNoSlot, {a});
  const Slot b = kernel.write(Width::word);  // 4
  kernel.add(kNoSlot, {b});
  kernel.branch(2, p);
  kernel.add(kNoSlot, {});
  allocate_registers(kernel.draft);
  EXPECT_NE(kernel.result(1), kernel.result(4));
}

TEST(AllocateRegisters, CountsTheRegistersThatAreLiveAtOnce) {
  Drafts kernel;
  const Slot a = kernel.write(Width::word);
  const Slot b = kernel.write(Width::double_word, {a});
  const Slot c = kernel.write(Width::word, {a});
  const Slot p = kernel.write(Width::predicate, {b});  // a is dead
  kernel.add(kNoSlot, {b, c, p});
  allocate_registers(kernel.draft);
  EXPECT_EQ(kernel.draft.kernel.live_registers, 3);  // a or c, and two of b
}

TEST(AllocateRegisters, PeaksOfWidthsAtDifferentTimesDoNotAddUp) {
  Drafts kernel;
  const Slot a = kernel.write(Width::word);
  const Slot b = kernel.write(Width::word);
  const Slot c = kernel.write(Width::word);
  kernel.add(kNoSlot, {a, b, c});  // 3 registers
  const Slot d = kernel.write(Width::double_word);
  const Slot e = kernel.write(Width::double_word);
  kernel.add(kNoSlot, {d, e});  // 4 registers
  allocate_registers(kernel.draft);
  EXPECT_EQ(kernel.draft.kernel.live_registers, 4);
}

// ---- Execution ----

TEST(AllocateRegistersExecution, ValuesSurviveALoopThatReusesPlaces) {
  const std::string kernel = lane_kernel(R"(
    add.u32 %r3, %r1, 100;
    mov.u32 %r4, 0;
    mov.u32 %r2, 0;
LOOP:
    add.u32 %r5, %r4, 1;
    mul.lo.u32 %r6, %r5, %r3;
    cvt.u64.u32 %rd4, %r6;
    shl.b64 %rd5, %rd4, 1;
    cvt.u32.u64 %r7, %rd5;
    add.u32 %r2, %r2, %r7;
    mov.u32 %r4, %r5;
    setp.lt.u32 %p1, %r4, 3;
    @%p1 bra LOOP;
    add.u32 %r2, %r2, %r3;)");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return 13 * (100 + i); }));
}

TEST(AllocateRegistersExecution, ValuesOfWaitingLanesSurviveTheOtherBranch) {
  // Lanes below 16 wait behind the branch with %r3 and %rd4, while the others use the places of
  // their dead registers.
  const std::string kernel = lane_kernel(R"(
    mul.lo.u32 %r3, %r1, 3;
    cvt.u64.u32 %rd4, %r3;
    setp.lt.u32 %p1, %r1, 16;
    @%p1 bra JOIN;
    mov.u32 %r5, 1;
    add.u32 %r6, %r5, %r1;
    cvt.u64.u32 %rd5, %r6;
    shl.b64 %rd6, %rd5, 4;
    mov.u64 %rd4, %rd6;
    mov.u32 %r3, %r6;
JOIN:
    cvt.u32.u64 %r7, %rd4;
    add.u32 %r2, %r7, %r3;)");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return i < 16 ? 6 * i : 17 * (i + 1); }));
}

TEST(AllocateRegistersExecution, AResultMayTakeThePlaceOfAnOperand) {
  // %p1 dies at the comparison, so one of its two results may have its place.
  const std::string kernel = lane_kernel(R"(
    and.b32 %r3, %r1, 1;
    setp.eq.u32 %p1, %r3, 0;
    setp.lt.and.u32 %p2|%p3, %r1, 16, %p1;
    selp.u32 %r4, 1, 0, %p2;
    selp.u32 %r5, 10, 0, %p3;
    add.u32 %r2, %r4, %r5;)");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return i % 2 ? 0u : i < 16 ? 1u : 10u; }));
}

TEST(AllocateRegistersExecution, GuardedDefinitionsKeepValuesAcrossALoop) {
  // %r2 is only written under a guard in the loop, and each lane in another iteration.
  const std::string kernel = lane_kernel(R"(
    mov.u32 %r2, 77;
    mov.u32 %r3, 0;
LOOP:
    mul.lo.u32 %r4, %r3, 10;
    setp.eq.u32 %p1, %r3, %r1;
    @%p1 mov.u32 %r2, %r4;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p2, %r3, 20;
    @%p2 bra LOOP;)");
  EXPECT_EQ(run_lanes(kernel), table(32, [](auto i) { return i < 20 ? i * 10 : 77; }));
}

}  // namespace
}  // namespace sinter::virtual_gpu::allocate_registers_test
