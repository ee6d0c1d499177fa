// Kernels with bulk copies and float atomics as NVRTC 13.0 compiles them, without comments.
#pragma once

namespace sinter::virtual_gpu {

/// `n` tiles of 32 floats, each reversed, with `cuda::memcpy_async` on a `cuda::barrier`, for
/// sm_90. The proxy fence behind the read of a tile is part of the source.
inline constexpr const char* kBarrierKernel90 = R"(.version 9.0
.target sm_90
.address_size 64
.visible .entry kernel(
.param .u64 p0,
.param .u64 p1,
.param .u32 p2
)
{
.reg .pred %p<9>;
.reg .f32 %f<2>;
.reg .b32 %r<29>;
.reg .b64 %rd<28>;
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
mov.u32 %r27, 0;
mov.u64 %rd15, _ZZ6kernelE3bar;
$L__BB0_4:
@%p1 bra $L__BB0_6;
shl.b32 %r17, %r27, 5;
mul.wide.s32 %rd13, %r17, 4;
add.s64 %rd12, %rd2, %rd13;
cvt.u32.u64 %r12, %rd11;
cvt.u32.u64 %r15, %rd15;
mov.u32 %r16, 128;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r12], [%rd12], %r16, [%r15];
mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r15], %r16;
$L__BB0_6:
cvt.u32.u64 %r18, %rd15;
mov.u32 %r19, 1;
mbarrier.arrive.shared::cta.b64 %rd16, [%r18], %r19;
mov.u64 %rd17, %globaltimer;
mov.u32 %r28, 0;
bra.uni $L__BB0_7;
$L__BB0_15:
add.s32 %r28, %r28, 1;
$L__BB0_7:
{
.reg .pred p;
mbarrier.try_wait.shared.b64 p, [%r18], %rd16;
selp.b32 %r21, 1, 0, p;
}
setp.eq.s32 %p4, %r21, 0;
@%p4 bra $L__BB0_10;
bra.uni $L__BB0_8;
$L__BB0_10:
setp.lt.s32 %p6, %r28, 16;
@%p6 bra $L__BB0_15;
mov.u64 %rd23, %globaltimer;
sub.s64 %rd6, %rd23, %rd17;
setp.lt.s64 %p7, %rd6, 4000000;
@%p7 bra $L__BB0_13;
bra.uni $L__BB0_12;
$L__BB0_13:
setp.lt.s64 %p8, %rd6, 40000;
@%p8 bra $L__BB0_7;
shr.s64 %rd24, %rd6, 63;
shr.u64 %rd25, %rd24, 62;
add.s64 %rd26, %rd6, %rd25;
shr.u64 %rd27, %rd26, 2;
cvt.u32.u64 %r26, %rd27;
nanosleep.u32 %r26;
bra.uni $L__BB0_7;
$L__BB0_12:
mov.u32 %r25, 1000000;
nanosleep.u32 %r25;
bra.uni $L__BB0_7;
$L__BB0_8:
ld.shared.f32 %f1, [%rd1];
shl.b32 %r23, %r27, 5;
add.s32 %r24, %r23, %r1;
mul.wide.u32 %rd21, %r24, 4;
add.s64 %rd22, %rd3, %rd21;
st.global.f32 [%rd22], %f1;
fence.proxy.async.shared::cta;
bar.sync 0;
add.s32 %r27, %r27, 1;
setp.lt.s32 %p5, %r27, %r6;
@%p5 bra $L__BB0_4;
$L__BB0_9:
ret;
}
)";

/// `n` tiles of 64 floats, each doubled and reversed, by bulk copies with the functions of
/// `cuda::ptx`.
inline constexpr const char* kBulkKernel = R"(.version 9.0
.target sm_90
.address_size 64
.visible .entry kernel(
.param .u64 p0,
.param .u64 p1,
.param .u32 p2
)
{
.reg .pred %p<7>;
.reg .f32 %f<3>;
.reg .b32 %r<24>;
.reg .b64 %rd<21>;
.shared .align 128 .b8 _ZZ6kernelE4tile[256];
.shared .align 128 .b8 _ZZ6kernelE4back[256];
.shared .align 8 .u64 _ZZ6kernelE3bar;
ld.param.u64 %rd5, [p0];
ld.param.u64 %rd6, [p1];
ld.param.u32 %r5, [p2];
mov.u32 %r1, %tid.x;
setp.ne.s32 %p1, %r1, 0;
@%p1 bra $L__BB0_2;
mov.u64 %rd7, _ZZ6kernelE3bar;
cvt.u32.u64 %r6, %rd7;
mov.u32 %r7, 1;
mbarrier.init.shared.b64 [%r6], %r7;
fence.proxy.async.shared::cta;
fence.mbarrier_init.release.cluster;
$L__BB0_2:
bar.sync 0;
setp.lt.s32 %p2, %r5, 1;
@%p2 bra $L__BB0_11;
cvta.to.global.u64 %rd1, %rd5;
mov.u32 %r9, 63;
sub.s32 %r10, %r9, %r1;
mul.wide.u32 %rd8, %r10, 4;
mov.u64 %rd9, _ZZ6kernelE4tile;
add.s64 %rd2, %rd9, %rd8;
mul.wide.u32 %rd10, %r1, 4;
mov.u64 %rd11, _ZZ6kernelE4back;
add.s64 %rd3, %rd11, %rd10;
cvta.to.global.u64 %rd4, %rd6;
mov.u32 %r23, 0;
$L__BB0_4:
@%p1 bra $L__BB0_6;
mov.u64 %rd14, _ZZ6kernelE3bar;
cvt.u32.u64 %r15, %rd14;
mov.u32 %r14, 256;
mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd12, [%r15], %r14;
shl.b32 %r16, %r23, 6;
mul.wide.s32 %rd15, %r16, 4;
add.s64 %rd13, %rd1, %rd15;
cvt.u32.u64 %r13, %rd9;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r13], [%rd13], %r14, [%r15];
$L__BB0_6:
and.b32 %r3, %r23, 1;
$L__BB0_7:
mov.u64 %rd17, _ZZ6kernelE3bar;
cvt.u32.u64 %r18, %rd17;
{
.reg .pred P_OUT;
mbarrier.try_wait.parity.shared::cta.b64 P_OUT, [%r18], %r3;
selp.b32 %r17, 1, 0, P_OUT;
}
setp.eq.s32 %p4, %r17, 0;
@%p4 bra $L__BB0_7;
ld.shared.f32 %f1, [%rd2];
add.f32 %f2, %f1, %f1;
st.shared.f32 [%rd3], %f2;
fence.proxy.async.shared::cta;
bar.sync 0;
@%p1 bra $L__BB0_10;
shl.b32 %r22, %r23, 6;
mul.wide.s32 %rd19, %r22, 4;
add.s64 %rd18, %rd4, %rd19;
cvt.u32.u64 %r20, %rd11;
mov.u32 %r21, 256;
cp.async.bulk.global.shared::cta.bulk_group [%rd18], [%r20], %r21;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0;
$L__BB0_10:
bar.sync 0;
add.s32 %r23, %r23, 1;
setp.lt.s32 %p6, %r23, %r5;
@%p6 bra $L__BB0_4;
$L__BB0_11:
ret;
}
)";

/// Float atomics, and `cg::memcpy_async`, `shfl_down` and `any` of groups of four threads.
inline constexpr const char* kAtomicKernel = R"(.version 9.0
.target sm_90
.address_size 64
.visible .entry kernel(
.param .u64 p0,
.param .u64 p1,
.param .u64 p2,
.param .u64 p3,
.param .u64 p4,
.param .u64 p5,
.param .u64 p6
)
{
.reg .pred %p<9>;
.reg .b16 %rs<12>;
.reg .f32 %f<14>;
.reg .b32 %r<31>;
.reg .f64 %fd<2>;
.reg .b64 %rd<31>;
.shared .align 4 .b8 _ZZ6kernelE4tile[256];
ld.param.u64 %rd7, [p0];
ld.param.u64 %rd8, [p1];
ld.param.u64 %rd9, [p2];
ld.param.u64 %rd10, [p3];
ld.param.u64 %rd11, [p4];
ld.param.u64 %rd12, [p5];
ld.param.u64 %rd13, [p6];
cvta.to.global.u64 %rd1, %rd7;
mov.u32 %r1, %ntid.y;
mov.u32 %r2, %ntid.x;
mov.u32 %r6, %tid.z;
mov.u32 %r7, %tid.y;
mad.lo.s32 %r8, %r1, %r6, %r7;
mov.u32 %r3, %tid.x;
mad.lo.s32 %r4, %r8, %r2, %r3;
setp.gt.u32 %p2, %r4, 63;
@%p2 bra $L__BB0_3;
cvt.u64.u32 %rd30, %r4;
mov.u32 %r9, %ntid.z;
mul.lo.s32 %r10, %r2, %r1;
mul.lo.s32 %r11, %r10, %r9;
cvt.u64.u32 %rd3, %r11;
$L__BB0_2:
shl.b64 %rd15, %rd30, 2;
add.s64 %rd14, %rd7, %rd15;
mov.u64 %rd16, _ZZ6kernelE4tile;
add.s64 %rd17, %rd16, %rd15;
cvt.u32.u64 %r12, %rd17;
cp.async.ca.shared.global [%r12], [%rd14], 4, 4;
add.s64 %rd30, %rd30, %rd3;
setp.lt.u64 %p3, %rd30, 64;
@%p3 bra $L__BB0_2;
$L__BB0_3:
cp.async.commit_group;
cp.async.wait_group 0;
barrier.sync 0;
mul.wide.u32 %rd22, %r3, 4;
mov.u64 %rd23, _ZZ6kernelE4tile;
add.s64 %rd6, %rd23, %rd22;
ld.shared.f32 %f4, [%rd6];
add.s64 %rd24, %rd1, 256;
atom.global.add.f32 %f5, [%rd24], %f4;
cvta.to.global.u64 %rd25, %rd8;
atom.global.add.f64 %fd1, [%rd25], 0d3FF0000000000000;
mov.u32 %r14, 1;
cvt.rn.f16.s32 %rs1, %r14;
{ atom.add.noftz.f16 %rs2,[%rd9],%rs1; }
mov.u32 %r15, 2;
cvt.rn.f16.s32 %rs5, %r15;
cvt.rn.f16.s32 %rs4, %r14;
mov.b32 %r17, {%rs4, %rs5};
{ atom.add.noftz.f16x2 %r16,[%rd10],%r17; }
mov.f32 %f2, 0f3F800000;
{ cvt.rn.bf16.f32 %rs6, %f2;}
{ atom.add.noftz.bf16 %rs7,[%rd11],%rs6; }
mov.f32 %f3, 0f40000000;
{ cvt.rn.bf16.f32 %rs10, %f3;}
{ cvt.rn.bf16.f32 %rs9, %f2;}
mov.b32 %r19, {%rs9, %rs10};
{ atom.add.noftz.bf16x2 %r18,[%rd12],%r19; }
cvta.to.global.u64 %rd26, %rd13;
mov.f32 %f6, 0f40800000;
mov.f32 %f7, 0f40400000;
atom.global.add.v4.f32 {%f8, %f9, %f10, %f11}, [%rd26], {%f2, %f3, %f7, %f6};
ld.shared.u32 %r21, [%rd6];
mov.u32 %r20, %laneid;
and.b32 %r22, %r20, -4;
mov.u32 %r23, 15;
shl.b32 %r24, %r23, %r22;
mov.u32 %r25, 7199;
shfl.sync.down.b32 %r5|%p1, %r21, %r14, %r25, %r24;
setp.ne.s32 %p4, %r3, 0;
@%p4 bra $L__BB0_5;
st.global.u32 [%rd1+260], %r5;
$L__BB0_5:
ld.shared.f32 %f12, [%rd6];
setp.gt.f32 %p6, %f12, 0f42700000;
mov.u32 %r26, %laneid;
and.b32 %r27, %r26, -4;
shl.b32 %r29, %r23, %r27;
vote.sync.ballot.b32 %r30, %p6, %r29;
setp.ne.s32 %p8, %r30, 0;
selp.f32 %f13, 0f3F800000, 0f00000000, %p8;
add.s64 %rd28, %rd1, %rd22;
st.global.f32 [%rd28+264], %f13;
@%p4 bra $L__BB0_7;
add.s64 %rd29, %rd1, 520;
atom.global.cas.b16 %rs11, [%rd29], 1, 2;
$L__BB0_7:
ret;
}
)";

}  // namespace sinter::virtual_gpu
