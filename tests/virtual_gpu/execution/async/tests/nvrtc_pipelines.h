// Kernels with pipelines and clusters as NVRTC 13.0 compiles them, without comments.
#pragma once

namespace sinter::virtual_gpu {

/// `n` tiles of 64 floats, each reversed, with a `cuda::pipeline` of two stages that a block
/// shares.
inline constexpr const char* kBlockPipelineKernel = R"(.version 9.0
.target sm_90
.address_size 64
.visible .entry kernel(
.param .u64 p0,
.param .u64 p1,
.param .u32 p2
)
{
.reg .pred %p<27>;
.reg .b16 %rs<37>;
.reg .f32 %f<2>;
.reg .b32 %r<91>;
.reg .b64 %rd<67>;
.shared .align 16 .b8 _ZZ6kernelE4tile[512];
.shared .align 8 .b8 _ZZ6kernelE5state[40];
ld.param.u64 %rd12, [p0];
ld.param.u64 %rd13, [p1];
ld.param.u32 %r24, [p2];
mov.u32 %r25, %ntid.y;
mov.u32 %r26, %ntid.x;
mul.lo.s32 %r27, %r26, %r25;
mov.u32 %r28, %ntid.z;
mul.lo.s32 %r1, %r27, %r28;
mov.u32 %r29, %tid.z;
mov.u32 %r30, %tid.y;
mad.lo.s32 %r31, %r25, %r29, %r30;
mov.u32 %r2, %tid.x;
mad.lo.s32 %r3, %r31, %r26, %r2;
setp.ne.s32 %p1, %r3, 0;
@%p1 bra $L__BB0_2;
mov.u64 %rd15, _ZZ6kernelE5state;
add.s64 %rd16, %rd15, 8;
cvt.u32.u64 %r32, %rd16;
mbarrier.init.shared.b64 [%r32], %r1;
cvt.u32.u64 %r34, %rd15;
mbarrier.init.shared.b64 [%r34], %r1;
add.s64 %rd17, %rd15, 16;
add.s64 %rd18, %rd15, 24;
cvt.u32.u64 %r36, %rd18;
mbarrier.init.shared.b64 [%r36], %r1;
cvt.u32.u64 %r38, %rd17;
mbarrier.init.shared.b64 [%r38], %r1;
cvta.shared.u64 %rd19, %rd15;
add.s64 %rd14, %rd19, 32;
st.relaxed.cta.b32 [%rd14],%r1;
$L__BB0_2:
barrier.sync 0;
setp.lt.s32 %p2, %r24, 1;
@%p2 bra $L__BB0_15;
shl.b32 %r4, %r1, 4;
shl.b32 %r5, %r3, 4;
cvta.to.global.u64 %rd1, %rd12;
mov.u32 %r43, 63;
sub.s32 %r44, %r43, %r2;
cvt.u64.u32 %rd2, %r44;
cvta.to.global.u64 %rd3, %rd13;
mov.u16 %rs35, 245;
mov.u16 %rs36, 0;
mov.u32 %r84, 0;
mov.u64 %rd21, _ZZ6kernelE5state;
shl.b64 %rd42, %rd2, 2;
mov.u32 %r89, %r84;
mov.u16 %rs31, %rs36;
$L__BB0_4:
add.s32 %r8, %r84, 2;
setp.ge.s32 %p3, %r89, %r8;
setp.ge.s32 %p4, %r89, %r24;
or.pred %p5, %p4, %p3;
@%p5 bra $L__BB0_11;
$L__BB0_5:
cvt.u32.u16 %r46, %rs36;
and.b32 %r47, %r46, 255;
mul.wide.u32 %rd4, %r47, 16;
add.s64 %rd22, %rd21, %rd4;
and.b16 %rs6, %rs35, 1;
cvt.u32.u16 %r48, %rs35;
mov.u64 %rd20, %globaltimer;
add.s64 %rd23, %rd22, 8;
cvt.u32.u64 %r10, %rd23;
and.b32 %r11, %r48, 1;
mov.u32 %r87, 0;
bra.uni $L__BB0_6;
$L__BB0_30:
add.s32 %r87, %r87, 1;
$L__BB0_6:
{
.reg .pred p;
mbarrier.try_wait.parity.shared.b64 p, [%r10], %r11;
selp.b32 %r49, 1, 0, p;
}
setp.eq.s32 %p6, %r49, 0;
@%p6 bra $L__BB0_25;
bra.uni $L__BB0_7;
$L__BB0_25:
setp.lt.s32 %p24, %r87, 16;
@%p24 bra $L__BB0_30;
mov.u64 %rd62, %globaltimer;
sub.s64 %rd11, %rd62, %rd20;
setp.lt.s64 %p25, %rd11, 4000000;
@%p25 bra $L__BB0_28;
bra.uni $L__BB0_27;
$L__BB0_28:
setp.lt.s64 %p26, %rd11, 40000;
@%p26 bra $L__BB0_6;
shr.s64 %rd63, %rd11, 63;
shr.u64 %rd64, %rd63, 62;
add.s64 %rd65, %rd11, %rd64;
shr.u64 %rd66, %rd65, 2;
cvt.u32.u64 %r83, %rd66;
nanosleep.u32 %r83;
bra.uni $L__BB0_6;
$L__BB0_27:
mov.u32 %r82, 1000000;
nanosleep.u32 %r82;
bra.uni $L__BB0_6;
$L__BB0_7:
setp.gt.s32 %p7, %r3, 15;
@%p7 bra $L__BB0_10;
shl.b32 %r52, %r89, 6;
shl.b32 %r53, %r89, 8;
cvt.u64.u32 %rd24, %r53;
and.b64 %rd25, %rd24, 256;
mov.u64 %rd26, _ZZ6kernelE4tile;
add.s64 %rd6, %rd26, %rd25;
mul.wide.s32 %rd27, %r52, 4;
add.s64 %rd7, %rd1, %rd27;
mov.u32 %r88, %r5;
$L__BB0_9:
cvt.s64.s32 %rd29, %r88;
add.s64 %rd30, %rd6, %rd29;
cvt.u32.u64 %r54, %rd30;
add.s64 %rd28, %rd7, %rd29;
cp.async.cg.shared.global [%r54], [%rd28], 16, 16;
add.s32 %r88, %r88, %r4;
setp.lt.s32 %p8, %r88, 256;
@%p8 bra $L__BB0_9;
$L__BB0_10:
cvt.u32.u64 %r56, %rd22;
cp.async.mbarrier.arrive.shared.b64 [%r56];
mov.u32 %r57, 1;
mbarrier.arrive.shared::cta.b64 %rd31, [%r56], %r57;
add.s16 %rs17, %rs36, 1;
and.b16 %rs18, %rs17, 255;
setp.eq.s16 %p9, %rs18, 2;
setp.eq.s16 %p10, %rs6, 0;
selp.u16 %rs19, 1, 0, %p10;
and.b16 %rs20, %rs35, -2;
or.b16 %rs21, %rs20, %rs19;
selp.b16 %rs35, %rs21, %rs35, %p9;
selp.b16 %rs36, 0, %rs17, %p9;
add.s32 %r89, %r89, 1;
setp.lt.s32 %p11, %r89, %r24;
setp.lt.s32 %p12, %r89, %r8;
and.pred %p13, %p11, %p12;
@%p13 bra $L__BB0_5;
$L__BB0_11:
cvt.u32.u16 %r59, %rs31;
and.b32 %r60, %r59, 255;
mul.wide.u32 %rd35, %r60, 16;
and.b16 %rs11, %rs35, 2;
shr.u16 %rs22, %rs11, 1;
mov.u64 %rd34, %globaltimer;
add.s64 %rd9, %rd21, %rd35;
cvt.u32.u64 %r17, %rd9;
cvt.u32.u16 %r18, %rs22;
mov.u32 %r90, 0;
bra.uni $L__BB0_12;
$L__BB0_24:
add.s32 %r90, %r90, 1;
$L__BB0_12:
{
.reg .pred p;
mbarrier.try_wait.parity.shared.b64 p, [%r17], %r18;
selp.b32 %r61, 1, 0, p;
}
setp.eq.s32 %p14, %r61, 0;
@%p14 bra $L__BB0_19;
bra.uni $L__BB0_13;
$L__BB0_19:
setp.lt.s32 %p21, %r90, 16;
@%p21 bra $L__BB0_24;
mov.u64 %rd57, %globaltimer;
sub.s64 %rd10, %rd57, %rd34;
setp.lt.s64 %p22, %rd10, 4000000;
@%p22 bra $L__BB0_22;
bra.uni $L__BB0_21;
$L__BB0_22:
setp.lt.s64 %p23, %rd10, 40000;
@%p23 bra $L__BB0_12;
shr.s64 %rd58, %rd10, 63;
shr.u64 %rd59, %rd58, 62;
add.s64 %rd60, %rd10, %rd59;
shr.u64 %rd61, %rd60, 2;
cvt.u32.u64 %r81, %rd61;
nanosleep.u32 %r81;
bra.uni $L__BB0_12;
$L__BB0_21:
mov.u32 %r80, 1000000;
nanosleep.u32 %r80;
bra.uni $L__BB0_12;
$L__BB0_13:
mov.u32 %r65, 1;
shl.b32 %r66, %r84, 8;
cvt.u64.u32 %rd38, %r66;
and.b64 %rd39, %rd38, 256;
mov.u64 %rd40, _ZZ6kernelE4tile;
add.s64 %rd41, %rd40, %rd39;
add.s64 %rd43, %rd41, %rd42;
ld.shared.f32 %f1, [%rd43];
shl.b32 %r67, %r84, 6;
add.s32 %r68, %r67, %r2;
mul.wide.u32 %rd44, %r68, 4;
add.s64 %rd45, %rd3, %rd44;
st.global.f32 [%rd45], %f1;
add.s64 %rd46, %rd9, 8;
cvt.u32.u64 %r64, %rd46;
mbarrier.arrive.shared::cta.b64 %rd37, [%r64], %r65;
add.s16 %rs23, %rs31, 1;
and.b16 %rs24, %rs23, 255;
setp.eq.s16 %p15, %rs24, 2;
setp.eq.s16 %p16, %rs11, 0;
selp.u16 %rs25, 1, 0, %p16;
shl.b16 %rs26, %rs25, 1;
and.b16 %rs27, %rs35, -3;
or.b16 %rs28, %rs26, %rs27;
selp.b16 %rs35, %rs28, %rs35, %p15;
selp.b16 %rs31, 0, %rs23, %p15;
add.s32 %r84, %r84, 1;
setp.lt.s32 %p17, %r84, %r24;
@%p17 bra $L__BB0_4;
and.b16 %rs29, %rs35, 4;
setp.eq.s16 %p18, %rs29, 0;
@%p18 bra $L__BB0_18;
$L__BB0_15:
activemask.b32 %r69;
mov.u64 %rd47, _ZZ6kernelE5state;
cvta.shared.u64 %rd48, %rd47;
add.s64 %rd49, %rd48, 32;
match.any.sync.b64 %r21, %rd49, %r69;
brev.b32 %r71, %r21;
bfind.shiftamt.u32 %r72, %r71;
mov.u32 %r70, %laneid;
setp.ne.s32 %p19, %r70, %r72;
@%p19 bra $L__BB0_18;
popc.b32 %r75, %r21;
neg.s32 %r74, %r75;
fence.sc.cta;
atom.add.acquire.cta.u32 %r73,[%rd49],%r74;
setp.ne.s32 %p20, %r73, %r75;
@%p20 bra $L__BB0_18;
cvt.u32.u64 %r76, %rd47;
mbarrier.inval.shared.b64 [%r76];
add.s64 %rd54, %rd47, 8;
cvt.u32.u64 %r77, %rd54;
mbarrier.inval.shared.b64 [%r77];
add.s64 %rd55, %rd47, 16;
cvt.u32.u64 %r78, %rd55;
mbarrier.inval.shared.b64 [%r78];
add.s64 %rd56, %rd47, 24;
cvt.u32.u64 %r79, %rd56;
mbarrier.inval.shared.b64 [%r79];
$L__BB0_18:
ret;
}
)";

/// Each block of a pair loads 64 floats with `cuda::device::memcpy_async_tx`, and adds those of the
/// other block. It also adds the sum over the warp by `cg::reduce`, and the number of coalesced
/// threads. Thread 0 waits at another place than the others.
inline constexpr const char* kClusterKernel = R"(.version 9.0
.target sm_90
.address_size 64
.visible .entry kernel(
.param .u64 p0,
.param .u64 p1,
.param .u32 p2
)
.explicitcluster
.reqnctapercluster 2, 1, 1
{
.reg .pred %p<11>;
.reg .f32 %f<8>;
.reg .b32 %r<38>;
.reg .b64 %rd<42>;
.shared .align 16 .b8 _ZZ6kernelE4tile[256];
.shared .align 8 .b8 _ZZ6kernelE3bar[8];
ld.param.u64 %rd7, [p0];
ld.param.u64 %rd8, [p1];
mov.u32 %r1, %tid.x;
setp.ne.s32 %p1, %r1, 0;
@%p1 bra $L__BB0_2;
mov.u32 %r7, %ntid.x;
mov.u64 %rd9, _ZZ6kernelE3bar;
cvt.u32.u64 %r6, %rd9;
mbarrier.init.shared.b64 [%r6], %r7;
fence.proxy.async.shared::cta;
$L__BB0_2:
setp.eq.s32 %p2, %r1, 0;
barrier.cluster.arrive;
barrier.cluster.wait;
@%p2 bra $L__BB0_11;
mov.u64 %rd12, _ZZ6kernelE3bar;
cvt.u32.u64 %r8, %rd12;
mov.u32 %r9, 1;
mbarrier.arrive.shared::cta.b64 %rd10, [%r8], %r9;
mov.u64 %rd11, %globaltimer;
mov.u32 %r36, 0;
bra.uni $L__BB0_4;
$L__BB0_10:
add.s32 %r36, %r36, 1;
$L__BB0_4:
{
.reg .pred p;
mbarrier.try_wait.shared.b64 p, [%r8], %rd10;
selp.b32 %r11, 1, 0, p;
}
setp.ne.s32 %p3, %r11, 0;
@%p3 bra $L__BB0_13;
setp.lt.s32 %p4, %r36, 16;
@%p4 bra $L__BB0_10;
mov.u64 %rd15, %globaltimer;
sub.s64 %rd3, %rd15, %rd11;
setp.lt.s64 %p5, %rd3, 4000000;
@%p5 bra $L__BB0_8;
bra.uni $L__BB0_7;
$L__BB0_8:
setp.lt.s64 %p6, %rd3, 40000;
@%p6 bra $L__BB0_4;
shr.s64 %rd16, %rd3, 63;
shr.u64 %rd17, %rd16, 62;
add.s64 %rd18, %rd3, %rd17;
shr.u64 %rd19, %rd18, 2;
cvt.u32.u64 %r14, %rd19;
nanosleep.u32 %r14;
bra.uni $L__BB0_4;
$L__BB0_7:
mov.u32 %r13, 1000000;
nanosleep.u32 %r13;
bra.uni $L__BB0_4;
$L__BB0_11:
cvta.to.global.u64 %rd20, %rd7;
mov.u64 %rd23, _ZZ6kernelE4tile;
cvt.u32.u64 %r15, %rd23;
mov.u64 %rd24, _ZZ6kernelE3bar;
cvt.u32.u64 %r18, %rd24;
mov.u32 %r19, 256;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r15], [%rd20], %r19, [%r18];
mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd21, [%r18], %r19;
mov.u64 %rd22, %globaltimer;
mov.u32 %r37, 0;
bra.uni $L__BB0_12;
$L__BB0_19:
add.s32 %r37, %r37, 1;
$L__BB0_12:
{
.reg .pred p;
mbarrier.try_wait.shared.b64 p, [%r18], %rd21;
selp.b32 %r21, 1, 0, p;
}
setp.eq.s32 %p7, %r21, 0;
@%p7 bra $L__BB0_14;
bra.uni $L__BB0_13;
$L__BB0_14:
setp.lt.s32 %p8, %r37, 16;
@%p8 bra $L__BB0_19;
mov.u64 %rd37, %globaltimer;
sub.s64 %rd6, %rd37, %rd22;
setp.lt.s64 %p9, %rd6, 4000000;
@%p9 bra $L__BB0_17;
bra.uni $L__BB0_16;
$L__BB0_17:
setp.lt.s64 %p10, %rd6, 40000;
@%p10 bra $L__BB0_12;
shr.s64 %rd38, %rd6, 63;
shr.u64 %rd39, %rd38, 62;
add.s64 %rd40, %rd6, %rd39;
shr.u64 %rd41, %rd40, 2;
cvt.u32.u64 %r35, %rd41;
nanosleep.u32 %r35;
bra.uni $L__BB0_12;
$L__BB0_16:
mov.u32 %r34, 1000000;
nanosleep.u32 %r34;
bra.uni $L__BB0_12;
$L__BB0_13:
mul.wide.u32 %rd27, %r1, 4;
mov.u64 %rd28, _ZZ6kernelE4tile;
add.s64 %rd29, %rd28, %rd27;
ld.shared.f32 %f1, [%rd29];
mov.b32 %r25, %cluster_ctarank;
xor.b32 %r26, %r25, 1;
cvta.shared.u64 %rd30, %rd28;
mapa.u64 %rd31, %rd30, %r26;
barrier.cluster.arrive;
barrier.cluster.wait;
add.s64 %rd32, %rd31, %rd27;
ld.f32 %f2, [%rd32];
add.f32 %f3, %f1, %f2;
cvt.rzi.s32.f32 %r27, %f3;
mov.u32 %r28, -1;
redux.sync.add.s32 %r29, %r27, %r28;
cvt.rn.f32.s32 %f4, %r29;
add.f32 %f5, %f3, %f4;
activemask.b32 %r23;
popc.b32 %r30, %r23;
cvt.rn.f32.u32 %f6, %r30;
add.f32 %f7, %f5, %f6;
mov.u32 %r31, %ctaid.x;
shl.b32 %r32, %r31, 6;
add.s32 %r33, %r32, %r1;
cvta.to.global.u64 %rd33, %rd8;
mul.wide.u32 %rd34, %r33, 4;
add.s64 %rd35, %rd33, %rd34;
st.global.f32 [%rd35], %f7;
mov.u64 %rd36, _ZZ6kernelE3bar;
cvt.u32.u64 %r24, %rd36;
mbarrier.arrive_drop.shared.b64 _, [%r24];
barrier.cluster.arrive;
barrier.cluster.wait;
ret;
}
)";

}  // namespace sinter::virtual_gpu
