// Which calls NCCL can carry out, their text in messages, and the message of a missing NCCL.
#include "runtime/collectives/nccl/nccl_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

#include "runtime/collectives/collective_text.h"
#include "runtime/collectives/nccl/nccl_types.h"
#include "runtime/support/library_file.h"
#include "tests/support/files/errors.h"

namespace sinter::nccl_call_test {
namespace {

using testing::HasSubstr;

constexpr NcclRank kOwn = {.rank = 1, .size = 4, .device = 2};

CollectiveCall call_of(Collective kind, DType dtype = f32, std::int64_t elements = 8) {
  CollectiveCall call;
  call.kind = kind;
  call.dtype = dtype;
  call.elements = elements;
  call.place = "train.cpp:12";
  call.device = 2;
  return call;
}

std::string refusal(const CollectiveCall& call) {
  return test::error_of([&] { check_nccl_call(call, kOwn); });
}

constexpr const char* kAccepted = "(nothing thrown)";

TEST(NcclCall, IsAccepted) {
  for (const DType dtype : {i8, i32, i64, u8, u32, u64, f16, bf16, f32, f64})
    for (const Collective kind :
         {Collective::all_reduce, Collective::reduce_scatter, Collective::reduce_to}) {
      EXPECT_EQ(refusal(call_of(kind, dtype)), kAccepted);
      EXPECT_TRUE(can_nccl_reduce(dtype));
    }
  for (const DType dtype : {boolean, i16, u16, f8e4m3, f8e5m2, c64, f32})
    for (const Collective kind : {Collective::all_gather, Collective::broadcast,
                                  Collective::all_to_all, Collective::send_receive})
      EXPECT_EQ(refusal(call_of(kind, dtype)), kAccepted);
}

TEST(NcclCall, IsRefused) {
  for (const DType dtype : {boolean, i16, u16, f8e4m3, f8e5m2, c64})
    EXPECT_EQ(refusal(call_of(Collective::all_reduce, dtype)),
              "NCCL: values of " + std::string(name(dtype)) +
                  " can be moved but not reduced; cast them to f32, i32 or another dtype of 32 or "
                  "64 bits");
  EXPECT_EQ(refusal(call_of(Collective::all_to_all, f32, 6)),
            "NCCL: 6 elements cannot be divided among 4 ranks");
  CollectiveCall call = call_of(Collective::broadcast);
  call.root = 4;
  EXPECT_EQ(refusal(call),
            "NCCL: the root is rank 4, but the communicator has 4 ranks, from 0 on");
  call = call_of(Collective::send_receive);
  call.target = 7;
  EXPECT_EQ(refusal(call),
            "NCCL: the target is rank 7, but the communicator has 4 ranks, from 0 on");
  call = call_of(Collective::all_reduce);
  call.reduction = RankReduction::mean;
  EXPECT_EQ(refusal(call),
            "NCCL: sinter asks it for no mean; divide the sum by the number of ranks");
  call.device = 0;
  EXPECT_THAT(refusal(call), HasSubstr("runs on cuda:0, but the communicator is of cuda:2"));
}

TEST(CollectiveText, SaysEverything) {
  CollectiveCall call = call_of(Collective::all_reduce);
  EXPECT_EQ(describe(call), "all_reduce of 8 f32 elements (sum), recorded at train.cpp:12");
  call.kind = Collective::reduce_to;
  call.reduction = RankReduction::max;
  call.root = 3;
  EXPECT_EQ(describe(call),
            "reduce_to of 8 f32 elements (max on rank 3), recorded at train.cpp:12");
  call.kind = Collective::broadcast;
  EXPECT_EQ(describe(call),
            "broadcast of 8 f32 elements (from rank 3), recorded at train.cpp:12");
  call.kind = Collective::send_receive;
  call.target = 0;
  EXPECT_EQ(describe(call),
            "send_receive of 8 f32 elements (from no rank, to rank 0), recorded at train.cpp:12");
  call.kind = Collective::all_to_all;
  call.place = {};
  EXPECT_EQ(describe(call), "all_to_all of 8 f32 elements, recorded at an unknown place");
}

std::string reason_of(const std::string& file) {
  setenv("SINTER_NCCL", file.c_str(), 1);
  const std::string reason = open_nccl().reason;
  unsetenv("SINTER_NCCL");
  return reason;
}

TEST(NcclLibrary, SaysWhyItCannotBeOpened) {
  EXPECT_THAT(reason_of("/no/libnccl.so"),
              testing::MatchesRegex(
                  "NCCL 2\\.18 or later, which cannot be opened \\(/no/libnccl\\.so: .*\\); install "
                  "NVIDIA's package libnccl2 or the Python wheel nvidia-nccl-cu1[23], or name the "
                  "file in SINTER_NCCL"));
  const std::string other = library_file(dlopen("libz.so.1", RTLD_NOW)).path;
  EXPECT_THAT(reason_of(other), HasSubstr("which cannot be used: " + other +
                                          " has no ncclGetVersion; install"));
}

TEST(NcclLibrary, MissesInOneSentence) {
  if (find_nccl().library) GTEST_SKIP() << "NCCL is there";
  EXPECT_EQ(test::error_of([] { nccl_unique_id(); }),
            "nccl_unique_id needs " + find_nccl().reason);
}

}  // namespace
}  // namespace sinter::nccl_call_test
