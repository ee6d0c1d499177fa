// Kernels with cp.async as NVRTC 13.0 compiles them, without comments.
#pragma once

namespace sinter::virtual_gpu {

/// A double buffer of 64 float4 with `__pipeline_memcpy_async`, `__pipeline_commit` and
/// `__pipeline_wait_prior`. It copies `n` tiles and reverses each. Of tile 1, only the first 8
/// bytes of each float4 are copied.
inline constexpr const char* kPipelineKernel = R"(.version 9.0
.target sm_80
.address_size 64
.visible .entry kernel(
.param .u64 p0,
.param .u64 p1,
.param .u32 p2
)
{
.reg .pred %p<5>;
.reg .b32 %r<35>;
.reg .b64 %rd<28>;
.shared .align 16 .b8 _ZZ6kernelE4tile[2048];
ld.param.u64 %rd8, [p0];
ld.param.u64 %rd6, [p1];
ld.param.u32 %r11, [p2];
mov.u32 %r33, %tid.x;
cvt.s64.s32 %rd1, %r33;
mul.wide.s32 %rd9, %r33, 16;
add.s64 %rd7, %rd8, %rd9;
mov.u64 %rd10, _ZZ6kernelE4tile;
add.s64 %rd11, %rd10, %rd9;
cvt.u32.u64 %r12, %rd11;
cp.async.cg.shared.global [%r12], [%rd7], 16, 16;
cp.async.commit_group;
setp.lt.s32 %p1, %r11, 1;
@%p1 bra $L__BB0_7;
mov.u32 %r16, 63;
sub.s32 %r17, %r16, %r33;
cvt.s64.s32 %rd3, %r17;
cvta.to.global.u64 %rd4, %rd6;
mov.u32 %r34, 0;
mov.u32 %r32, 64;
mov.u32 %r31, 1;
shl.b64 %rd16, %rd1, 4;
shl.b64 %rd26, %rd3, 4;
$L__BB0_2:
.pragma "nounroll";
mov.u32 %r5, %r34;
add.s32 %r34, %r5, 1;
setp.ge.s32 %p2, %r31, %r11;
@%p2 bra $L__BB0_6;
mul.wide.s32 %rd12, %r32, 16;
add.s64 %rd5, %rd7, %rd12;
shl.b32 %r18, %r31, 10;
and.b32 %r19, %r18, 1024;
cvt.u64.u32 %rd13, %r19;
add.s64 %rd15, %rd10, %rd13;
add.s64 %rd17, %rd15, %rd16;
cvt.u32.u64 %r7, %rd17;
setp.eq.s32 %p3, %r31, 1;
@%p3 bra $L__BB0_5;
bra.uni $L__BB0_4;
$L__BB0_5:
cp.async.cg.shared.global [%r7], [%rd5], 16, 8;
bra.uni $L__BB0_6;
$L__BB0_4:
cp.async.cg.shared.global [%r7], [%rd5], 16, 16;
$L__BB0_6:
cp.async.commit_group;
cp.async.wait_group 1;
bar.sync 0;
mul.wide.s32 %rd20, %r33, 16;
add.s64 %rd21, %rd4, %rd20;
shl.b32 %r22, %r5, 10;
cvt.u64.u32 %rd22, %r22;
and.b64 %rd23, %rd22, 1024;
add.s64 %rd25, %rd10, %rd23;
add.s64 %rd27, %rd25, %rd26;
ld.shared.v4.u32 {%r23, %r24, %r25, %r26}, [%rd27];
st.global.v4.u32 [%rd21], {%r23, %r24, %r25, %r26};
bar.sync 0;
add.s32 %r33, %r33, 64;
add.s32 %r32, %r32, 64;
add.s32 %r31, %r31, 1;
setp.lt.s32 %p4, %r34, %r11;
@%p4 bra $L__BB0_2;
$L__BB0_7:
ret;
}
)";

/// `n` tiles of 32 floats, each reversed, with `cuda::memcpy_async` on a `cuda::barrier`, for
/// sm_80.
inline constexpr const char* kBarrierKernel80 = R"(.version 9.0
.target sm_80
.address_size 64
.visible .entry kernel(
.param .u64 p0,
.param .u64 p1,
.param .u32 p2
)
{
.reg .pred %p<9>;
.reg .f32 %f<2>;
.reg .b32 %r<32>;
.reg .b64 %rd<42>;
.shared .align 16 .b8 _ZZ6kernelE4tile[128];
.shared .align 8 .b8 _ZZ6kernelE3bar[8];
ld.param.u64 %rd7, [p0];
ld.param.u64 %rd8, [p1];
ld.param.u32 %r6, [p2];
mov.u32 %r1, %tid.x;
setp.ne.s32 %p1, %r1, 0;
@%p1 bra $L__BB0_2;
mov.u32 %r8, %ntid.x;
mov.u64 %rd9, _ZZ6kernelE3bar;
cvt.u32.u64 %r7, %rd9;
mbarrier.init.shared.b64 [%r7], %r8;
$L__BB0_2:
bar.sync 0;
setp.lt.s32 %p2, %r6, 1;
@%p2 bra $L__BB0_9;
mov.u32 %r10, 31;
sub.s32 %r11, %r10, %r1;
mul.wide.u32 %rd10, %r11, 4;
mov.u64 %rd11, _ZZ6kernelE4tile;
add.s64 %rd1, %rd11, %rd10;
cvta.to.global.u64 %rd2, %rd7;
cvta.to.global.u64 %rd3, %rd8;
mov.u32 %r30, 0;
add.s64 %rd22, %rd11, 16;
$L__BB0_4:
@%p1 bra $L__BB0_6;
shl.b32 %r21, %r30, 5;
mul.wide.s32 %rd20, %r21, 4;
add.s64 %rd12, %rd2, %rd20;
cvt.u32.u64 %r12, %rd11;
cp.async.cg.shared.global [%r12], [%rd12], 16, 16;
add.s64 %rd13, %rd12, 16;
cvt.u32.u64 %r13, %rd22;
cp.async.cg.shared.global [%r13], [%rd13], 16, 16;
add.s64 %rd14, %rd12, 32;
add.s64 %rd23, %rd11, 32;
cvt.u32.u64 %r14, %rd23;
cp.async.cg.shared.global [%r14], [%rd14], 16, 16;
add.s64 %rd15, %rd12, 48;
add.s64 %rd24, %rd11, 48;
cvt.u32.u64 %r15, %rd24;
cp.async.cg.shared.global [%r15], [%rd15], 16, 16;
add.s64 %rd16, %rd12, 64;
add.s64 %rd25, %rd11, 64;
cvt.u32.u64 %r16, %rd25;
cp.async.cg.shared.global [%r16], [%rd16], 16, 16;
add.s64 %rd17, %rd12, 80;
add.s64 %rd26, %rd11, 80;
cvt.u32.u64 %r17, %rd26;
cp.async.cg.shared.global [%r17], [%rd17], 16, 16;
add.s64 %rd18, %rd12, 96;
add.s64 %rd27, %rd11, 96;
cvt.u32.u64 %r18, %rd27;
cp.async.cg.shared.global [%r18], [%rd18], 16, 16;
add.s64 %rd19, %rd12, 112;
add.s64 %rd28, %rd11, 112;
cvt.u32.u64 %r19, %rd28;
cp.async.cg.shared.global [%r19], [%rd19], 16, 16;
mov.u64 %rd29, _ZZ6kernelE3bar;
cvt.u32.u64 %r20, %rd29;
cp.async.mbarrier.arrive.shared.b64 [%r20];
$L__BB0_6:
mov.u64 %rd32, _ZZ6kernelE3bar;
cvt.u32.u64 %r22, %rd32;
mbarrier.arrive.shared.b64 %rd30, [%r22];
mov.u64 %rd31, %globaltimer;
mov.u32 %r31, 0;
bra.uni $L__BB0_7;
$L__BB0_15:
add.s32 %r31, %r31, 1;
$L__BB0_7:
{
.reg .pred p;
mbarrier.test_wait.shared.b64 p, [%r22], %rd30;
selp.b32 %r24, 1, 0, p;
}
setp.eq.s32 %p4, %r24, 0;
@%p4 bra $L__BB0_10;
bra.uni $L__BB0_8;
$L__BB0_10:
setp.lt.s32 %p6, %r31, 16;
@%p6 bra $L__BB0_15;
mov.u64 %rd37, %globaltimer;
sub.s64 %rd6, %rd37, %rd31;
setp.lt.s64 %p7, %rd6, 4000000;
@%p7 bra $L__BB0_13;
bra.uni $L__BB0_12;
$L__BB0_13:
setp.lt.s64 %p8, %rd6, 40000;
@%p8 bra $L__BB0_7;
shr.s64 %rd38, %rd6, 63;
shr.u64 %rd39, %rd38, 62;
add.s64 %rd40, %rd6, %rd39;
shr.u64 %rd41, %rd40, 2;
cvt.u32.u64 %r29, %rd41;
nanosleep.u32 %r29;
bra.uni $L__BB0_7;
$L__BB0_12:
mov.u32 %r28, 1000000;
nanosleep.u32 %r28;
bra.uni $L__BB0_7;
$L__BB0_8:
ld.shared.f32 %f1, [%rd1];
shl.b32 %r26, %r30, 5;
add.s32 %r27, %r26, %r1;
mul.wide.u32 %rd35, %r27, 4;
add.s64 %rd36, %rd3, %rd35;
st.global.f32 [%rd36], %f1;
bar.sync 0;
add.s32 %r30, %r30, 1;
setp.lt.s32 %p5, %r30, %r6;
@%p5 bra $L__BB0_4;
$L__BB0_9:
ret;
}
)";

}  // namespace sinter::virtual_gpu
