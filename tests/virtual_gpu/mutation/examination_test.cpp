#include "tests/virtual_gpu/mutation/examination.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/virtual_gpu/execution/tests/test_kernels.h"

namespace sinter::virtual_gpu::examination_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A device with one word per thread, and the outcomes of a lane_kernel() on it.
struct Device {
  GlobalMemory memory;
  HappensBefore order;
  GpuLimits limits;
  GpuOptions options;

  /// `number kind: outcome, schedule` of each mutation; number 0: the unchanged kernel.
  std::vector<std::string> examine_kernel(const std::string& body, const Launch& shape,
                                          const std::string& variables = "") {
    Gpu gpu(limits, options, memory, order);
    Allocation& out =
        memory.allocate(shape.grid.count() * shape.block.count() * 4, 0, MemoryKind::device);
    before_.assign(out.data, out.data + out.size);
    LaunchRequest request{.program = gpu.load(lane_kernel(body, variables)),
                          .grid = shape.grid,
                          .block = shape.block,
                          .cluster = shape.cluster,
                          .parameters = std::vector<std::byte>(sizeof out.address),
                          .is_ordered = [](std::uint32_t) { return true; }};
    std::memcpy(request.parameters.data(), &out.address, sizeof out.address);
    std::vector<std::string> outcomes;
    examine(
        {.limits = limits,
         .options = options,
         .memory = memory,
         .order = order,
         .request = request},
        [](const Mutation&) { return true; },
        [&](const Mutation* mutation, const Outcome& outcome) {
          outcomes.push_back(fmt::format("{} {}: {}, {}", mutation ? mutation->number : 0,
                                         mutation ? name_of(mutation->kind) : "unchanged",
                                         outcome.name(), name_of(outcome.schedule)));
          last_message = outcome.message;
        });
    EXPECT_EQ(before_, std::vector<std::byte>(out.data, out.data + out.size));
    return outcomes;
  }

  std::string last_message;

 private:
  std::vector<std::byte> before_;
};

const Launch kTwoWarps = {.block = {64, 1, 1}};

/// Each thread reads the word of the thread 32 places further.
const std::string kExchange = R"(
  .shared .align 4 .b8 words[256];
  mov.u64 %rd3, words;
  mad.wide.u32 %rd4, %r1, 4, %rd3;
  st.shared.u32 [%rd4], %r1;
  bar.sync 0;
  xor.b32 %r4, %r1, 32;
  mad.wide.u32 %rd4, %r4, 4, %rd3;
  ld.shared.u32 %r2, [%rd4];)";

TEST(Examination, SaysWhichCheckCatchesAMutation) {
  Device device;
  EXPECT_THAT(device.examine_kernel(kExchange, kTwoWarps),
              ElementsAre("1 barrier: initialisation, fair"));
  EXPECT_THAT(device.last_message, HasSubstr("nothing wrote the byte at shared address"));
}

TEST(Examination, ARedundantInstructionIsCaughtByNothing) {
  Device device;
  EXPECT_THAT(device.examine_kernel("membar.gl; mov.u32 %r2, %r1;", kTwoWarps),
              ElementsAre("1 fence: nothing, adversarial 1"));
}

TEST(Examination, ComparesTheBytesInMemory) {
  // Only the thread with the predicate would store another value.
  Device device;
  EXPECT_THAT(
      device.examine_kernel("setp.eq.u32 %p1, %r1, 5; bar.red.popc.u32 %r2, 0, %p1;", kTwoWarps),
      ElementsAre("1 reduction: result, fair"));
  EXPECT_THAT(device.last_message, HasSubstr("byte 0 of 256"));
}

TEST(Examination, StopsAKernelThatDoesNotEnd) {
  Device device;
  EXPECT_THAT(device.examine_kernel(R"(
LOOP:
  mov.u32 %r2, 1;
  setp.eq.u32 %p1, %r1, 5;
  bar.red.or.pred %p2, 0, %p1;
  @!%p2 bra LOOP;)",
                                    kTwoWarps),
              ElementsAre("1 reduction: endless, fair"));
}

TEST(Examination, AMissingWaitRacesWithTheLaunchBefore) {
  Device device;
  EXPECT_THAT(device.examine_kernel("griddepcontrol.wait; mov.u32 %r2, %r1;", kTwoWarps),
              ElementsAre("1 grid wait: race, fair"));
  EXPECT_THAT(device.last_message, HasSubstr("the launch before it"));
}

TEST(Examination, ReportsAnAccessInFrontOfTheWait) {
  Device device;
  EXPECT_THAT(device.examine_kernel(
                  "st.global.u32 [%rd1], %r1; griddepcontrol.wait; mov.u32 %r2, 0;", kTwoWarps),
              ElementsAre("0 unchanged: race, fair"));
}

TEST(Examination, ReportsAnUnchangedKernelThatFails) {
  Device device;
  EXPECT_THAT(device.examine_kernel("mov.u32 %r2, 0; mov.u64 %rd1, 64;", kTwoWarps),
              ElementsAre("0 unchanged: memory, fair"));
}

}  // namespace
}  // namespace sinter::virtual_gpu::examination_test
