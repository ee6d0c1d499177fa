// Rows of cvt and cvt.pack (sections 9.7.9.21 and 9.7.9.22 of the PTX ISA manual). A register wider
// than the type gives its low bits, and the result is extended to the register.
#include "tests/virtual_gpu/isa/convert.h"
#include "tests/virtual_gpu/isa/lanewise.h"

namespace sinter::virtual_gpu::conversion_rows {
namespace {

// ---- Rows ----

constexpr std::string_view kCvt = "9.7.9.21";
constexpr std::string_view kCvtPack = "9.7.9.22";

/// The C++ type of a scalar type in an opcode.
template <OpcodeText kOpcode, int kPart>
consteval auto scalar_type() {
  constexpr std::string_view kName = kOpcode.part(kPart);
  if constexpr (kName == "u8")
    return std::type_identity<std::uint8_t>();
  else if constexpr (kName == "u16")
    return std::type_identity<std::uint16_t>();
  else if constexpr (kName == "u32")
    return std::type_identity<std::uint32_t>();
  else if constexpr (kName == "u64")
    return std::type_identity<std::uint64_t>();
  else if constexpr (kName == "s8")
    return std::type_identity<std::int8_t>();
  else if constexpr (kName == "s16")
    return std::type_identity<std::int16_t>();
  else if constexpr (kName == "s32")
    return std::type_identity<std::int32_t>();
  else if constexpr (kName == "s64")
    return std::type_identity<std::int64_t>();
  else if constexpr (kName == "f16")
    return std::type_identity<Half>();
  else if constexpr (kName == "bf16")
    return std::type_identity<Bfloat>();
  else if constexpr (kName == "f32")
    return std::type_identity<float>();
  else if constexpr (kName == "f64")
    return std::type_identity<double>();
}

template <OpcodeText kOpcode, NarrowFormat kFormat>
consteval Semantics float8_row() {
  constexpr Modifiers kModifiers = modifiers_of(kOpcode, 2);
  if constexpr (kOpcode.part(-2) == "f16x2")
    return lanewise<&floats8_to_halves<kModifiers, kFormat>>(kOpcode.view(), kCvt);
  else if constexpr (kOpcode.part(-1) == "f16x2")
    return lanewise<&halves_to_floats8<kModifiers, kFormat>>(kOpcode.view(), kCvt);
  else if constexpr (kOpcode.part(-1) == "f32")
    return lanewise<&floats_to_floats8<kModifiers, kFormat>>(kOpcode.view(), kCvt);
}

template <OpcodeText kOpcode>
constexpr Semantics row = [] {
  constexpr Modifiers kModifiers = modifiers_of(kOpcode, 2);
  constexpr std::string_view kTo = kOpcode.part(-2), kFrom = kOpcode.part(-1);
  if constexpr (kTo == "e4m3x2" || kFrom == "e4m3x2") {
    return float8_row<kOpcode, kE4m3>();
  } else if constexpr (kTo == "e5m2x2" || kFrom == "e5m2x2") {
    return float8_row<kOpcode, kE5m2>();
  } else if constexpr (kTo == "f16x2") {
    return lanewise<&convert_pair<kModifiers, Half>>(kOpcode.view(), kCvt);
  } else if constexpr (kTo == "bf16x2") {
    return lanewise<&convert_pair<kModifiers, Bfloat>>(kOpcode.view(), kCvt);
  } else if constexpr (kTo == "tf32") {
    return lanewise<&convert_to_tf32<kModifiers>>(kOpcode.view(), kCvt);
  } else {
    using To = typename decltype(scalar_type<kOpcode, -2>())::type;
    using From = typename decltype(scalar_type<kOpcode, -1>())::type;
    return lanewise<&convert<kModifiers, To, From>>(kOpcode.view(), kCvt);
  }
}();

// clang-format off
constexpr Semantics kRows[] = {
    row<"cvt.u8.u8">, row<"cvt.u8.u16">, row<"cvt.u8.u32">, row<"cvt.u8.u64">, row<"cvt.u8.s8">,
    row<"cvt.u8.s16">, row<"cvt.u8.s32">, row<"cvt.u8.s64">, row<"cvt.u16.u8">, row<"cvt.u16.u16">,
    row<"cvt.u16.u32">, row<"cvt.u16.u64">, row<"cvt.u16.s8">, row<"cvt.u16.s16">,
    row<"cvt.u16.s32">, row<"cvt.u16.s64">, row<"cvt.u32.u8">, row<"cvt.u32.u16">,
    row<"cvt.u32.u32">, row<"cvt.u32.u64">, row<"cvt.u32.s8">, row<"cvt.u32.s16">,
    row<"cvt.u32.s32">, row<"cvt.u32.s64">, row<"cvt.u64.u8">, row<"cvt.u64.u16">,
    row<"cvt.u64.u32">, row<"cvt.u64.u64">, row<"cvt.u64.s8">, row<"cvt.u64.s16">,
    row<"cvt.u64.s32">, row<"cvt.u64.s64">, row<"cvt.s8.u8">, row<"cvt.s8.u16">, row<"cvt.s8.u32">,
    row<"cvt.s8.u64">, row<"cvt.s8.s8">, row<"cvt.s8.s16">, row<"cvt.s8.s32">, row<"cvt.s8.s64">,
    row<"cvt.s16.u8">, row<"cvt.s16.u16">, row<"cvt.s16.u32">, row<"cvt.s16.u64">,
    row<"cvt.s16.s8">, row<"cvt.s16.s16">, row<"cvt.s16.s32">, row<"cvt.s16.s64">,
    row<"cvt.s32.u8">, row<"cvt.s32.u16">, row<"cvt.s32.u32">, row<"cvt.s32.u64">,
    row<"cvt.s32.s8">, row<"cvt.s32.s16">, row<"cvt.s32.s32">, row<"cvt.s32.s64">,
    row<"cvt.s64.u8">, row<"cvt.s64.u16">, row<"cvt.s64.u32">, row<"cvt.s64.u64">,
    row<"cvt.s64.s8">, row<"cvt.s64.s16">, row<"cvt.s64.s32">, row<"cvt.s64.s64">,
    row<"cvt.sat.u8.u16">, row<"cvt.sat.u8.u32">, row<"cvt.sat.u8.u64">, row<"cvt.sat.u8.s8">,
    row<"cvt.sat.u8.s16">, row<"cvt.sat.u8.s32">, row<"cvt.sat.u8.s64">, row<"cvt.sat.u16.u32">,
    row<"cvt.sat.u16.u64">, row<"cvt.sat.u16.s8">, row<"cvt.sat.u16.s16">, row<"cvt.sat.u16.s32">,
    row<"cvt.sat.u16.s64">, row<"cvt.sat.u32.u64">, row<"cvt.sat.u32.s8">, row<"cvt.sat.u32.s16">,
    row<"cvt.sat.u32.s32">, row<"cvt.sat.u32.s64">, row<"cvt.sat.u64.s8">, row<"cvt.sat.u64.s16">,
    row<"cvt.sat.u64.s32">, row<"cvt.sat.u64.s64">, row<"cvt.sat.s8.u8">, row<"cvt.sat.s8.u16">,
    row<"cvt.sat.s8.u32">, row<"cvt.sat.s8.u64">, row<"cvt.sat.s8.s16">, row<"cvt.sat.s8.s32">,
    row<"cvt.sat.s8.s64">, row<"cvt.sat.s16.u16">, row<"cvt.sat.s16.u32">, row<"cvt.sat.s16.u64">,
    row<"cvt.sat.s16.s32">, row<"cvt.sat.s16.s64">, row<"cvt.sat.s32.u32">, row<"cvt.sat.s32.u64">,
    row<"cvt.sat.s32.s64">, row<"cvt.sat.s64.u64">,
    row<"cvt.rni.u8.f16">, row<"cvt.rzi.u8.f16">, row<"cvt.rmi.u8.f16">, row<"cvt.rpi.u8.f16">,
    row<"cvt.rni.u8.bf16">, row<"cvt.rzi.u8.bf16">, row<"cvt.rmi.u8.bf16">, row<"cvt.rpi.u8.bf16">,
    row<"cvt.rni.u8.f32">, row<"cvt.rzi.u8.f32">, row<"cvt.rmi.u8.f32">, row<"cvt.rpi.u8.f32">,
    row<"cvt.rni.ftz.u8.f32">, row<"cvt.rzi.ftz.u8.f32">, row<"cvt.rmi.ftz.u8.f32">,
    row<"cvt.rpi.ftz.u8.f32">, row<"cvt.rni.u8.f64">, row<"cvt.rzi.u8.f64">, row<"cvt.rmi.u8.f64">,
    row<"cvt.rpi.u8.f64">,
    row<"cvt.rni.u16.f16">, row<"cvt.rzi.u16.f16">, row<"cvt.rmi.u16.f16">, row<"cvt.rpi.u16.f16">,
    row<"cvt.rni.u16.bf16">, row<"cvt.rzi.u16.bf16">, row<"cvt.rmi.u16.bf16">,
    row<"cvt.rpi.u16.bf16">, row<"cvt.rni.u16.f32">, row<"cvt.rzi.u16.f32">, row<"cvt.rmi.u16.f32">,
    row<"cvt.rpi.u16.f32">, row<"cvt.rni.ftz.u16.f32">, row<"cvt.rzi.ftz.u16.f32">,
    row<"cvt.rmi.ftz.u16.f32">, row<"cvt.rpi.ftz.u16.f32">, row<"cvt.rni.u16.f64">,
    row<"cvt.rzi.u16.f64">, row<"cvt.rmi.u16.f64">, row<"cvt.rpi.u16.f64">,
    row<"cvt.rni.u32.f16">, row<"cvt.rzi.u32.f16">, row<"cvt.rmi.u32.f16">, row<"cvt.rpi.u32.f16">,
    row<"cvt.rni.u32.bf16">, row<"cvt.rzi.u32.bf16">, row<"cvt.rmi.u32.bf16">,
    row<"cvt.rpi.u32.bf16">, row<"cvt.rni.u32.f32">, row<"cvt.rzi.u32.f32">, row<"cvt.rmi.u32.f32">,
    row<"cvt.rpi.u32.f32">, row<"cvt.rni.ftz.u32.f32">, row<"cvt.rzi.ftz.u32.f32">,
    row<"cvt.rmi.ftz.u32.f32">, row<"cvt.rpi.ftz.u32.f32">, row<"cvt.rni.u32.f64">,
    row<"cvt.rzi.u32.f64">, row<"cvt.rmi.u32.f64">, row<"cvt.rpi.u32.f64">,
    row<"cvt.rni.u64.f16">, row<"cvt.rzi.u64.f16">, row<"cvt.rmi.u64.f16">, row<"cvt.rpi.u64.f16">,
    row<"cvt.rni.u64.bf16">, row<"cvt.rzi.u64.bf16">, row<"cvt.rmi.u64.bf16">,
    row<"cvt.rpi.u64.bf16">, row<"cvt.rni.u64.f32">, row<"cvt.rzi.u64.f32">, row<"cvt.rmi.u64.f32">,
    row<"cvt.rpi.u64.f32">, row<"cvt.rni.ftz.u64.f32">, row<"cvt.rzi.ftz.u64.f32">,
    row<"cvt.rmi.ftz.u64.f32">, row<"cvt.rpi.ftz.u64.f32">, row<"cvt.rni.u64.f64">,
    row<"cvt.rzi.u64.f64">, row<"cvt.rmi.u64.f64">, row<"cvt.rpi.u64.f64">,
    row<"cvt.rni.s8.f16">, row<"cvt.rzi.s8.f16">, row<"cvt.rmi.s8.f16">, row<"cvt.rpi.s8.f16">,
    row<"cvt.rni.s8.bf16">, row<"cvt.rzi.s8.bf16">, row<"cvt.rmi.s8.bf16">, row<"cvt.rpi.s8.bf16">,
    row<"cvt.rni.s8.f32">, row<"cvt.rzi.s8.f32">, row<"cvt.rmi.s8.f32">, row<"cvt.rpi.s8.f32">,
    row<"cvt.rni.ftz.s8.f32">, row<"cvt.rzi.ftz.s8.f32">, row<"cvt.rmi.ftz.s8.f32">,
    row<"cvt.rpi.ftz.s8.f32">, row<"cvt.rni.s8.f64">, row<"cvt.rzi.s8.f64">, row<"cvt.rmi.s8.f64">,
    row<"cvt.rpi.s8.f64">,
    row<"cvt.rni.s16.f16">, row<"cvt.rzi.s16.f16">, row<"cvt.rmi.s16.f16">, row<"cvt.rpi.s16.f16">,
    row<"cvt.rni.s16.bf16">, row<"cvt.rzi.s16.bf16">, row<"cvt.rmi.s16.bf16">,
    row<"cvt.rpi.s16.bf16">, row<"cvt.rni.s16.f32">, row<"cvt.rzi.s16.f32">, row<"cvt.rmi.s16.f32">,
    row<"cvt.rpi.s16.f32">, row<"cvt.rni.ftz.s16.f32">, row<"cvt.rzi.ftz.s16.f32">,
    row<"cvt.rmi.ftz.s16.f32">, row<"cvt.rpi.ftz.s16.f32">, row<"cvt.rni.s16.f64">,
    row<"cvt.rzi.s16.f64">, row<"cvt.rmi.s16.f64">, row<"cvt.rpi.s16.f64">,
    row<"cvt.rni.s32.f16">, row<"cvt.rzi.s32.f16">, row<"cvt.rmi.s32.f16">, row<"cvt.rpi.s32.f16">,
    row<"cvt.rni.s32.bf16">, row<"cvt.rzi.s32.bf16">, row<"cvt.rmi.s32.bf16">,
    row<"cvt.rpi.s32.bf16">, row<"cvt.rni.s32.f32">, row<"cvt.rzi.s32.f32">, row<"cvt.rmi.s32.f32">,
    row<"cvt.rpi.s32.f32">, row<"cvt.rni.ftz.s32.f32">, row<"cvt.rzi.ftz.s32.f32">,
    row<"cvt.rmi.ftz.s32.f32">, row<"cvt.rpi.ftz.s32.f32">, row<"cvt.rni.s32.f64">,
    row<"cvt.rzi.s32.f64">, row<"cvt.rmi.s32.f64">, row<"cvt.rpi.s32.f64">,
    row<"cvt.rni.s64.f16">, row<"cvt.rzi.s64.f16">, row<"cvt.rmi.s64.f16">, row<"cvt.rpi.s64.f16">,
    row<"cvt.rni.s64.bf16">, row<"cvt.rzi.s64.bf16">, row<"cvt.rmi.s64.bf16">,
    row<"cvt.rpi.s64.bf16">, row<"cvt.rni.s64.f32">, row<"cvt.rzi.s64.f32">, row<"cvt.rmi.s64.f32">,
    row<"cvt.rpi.s64.f32">, row<"cvt.rni.ftz.s64.f32">, row<"cvt.rzi.ftz.s64.f32">,
    row<"cvt.rmi.ftz.s64.f32">, row<"cvt.rpi.ftz.s64.f32">, row<"cvt.rni.s64.f64">,
    row<"cvt.rzi.s64.f64">, row<"cvt.rmi.s64.f64">, row<"cvt.rpi.s64.f64">,
    row<"cvt.rn.f16.u8">, row<"cvt.rz.f16.u8">, row<"cvt.rm.f16.u8">, row<"cvt.rp.f16.u8">,
    row<"cvt.rn.bf16.u8">, row<"cvt.rz.bf16.u8">, row<"cvt.rm.bf16.u8">, row<"cvt.rp.bf16.u8">,
    row<"cvt.rn.f32.u8">, row<"cvt.rz.f32.u8">, row<"cvt.rm.f32.u8">, row<"cvt.rp.f32.u8">,
    row<"cvt.rn.f64.u8">, row<"cvt.rz.f64.u8">, row<"cvt.rm.f64.u8">, row<"cvt.rp.f64.u8">,
    row<"cvt.rn.f16.u16">, row<"cvt.rz.f16.u16">, row<"cvt.rm.f16.u16">, row<"cvt.rp.f16.u16">,
    row<"cvt.rn.bf16.u16">, row<"cvt.rz.bf16.u16">, row<"cvt.rm.bf16.u16">, row<"cvt.rp.bf16.u16">,
    row<"cvt.rn.f32.u16">, row<"cvt.rz.f32.u16">, row<"cvt.rm.f32.u16">, row<"cvt.rp.f32.u16">,
    row<"cvt.rn.f64.u16">, row<"cvt.rz.f64.u16">, row<"cvt.rm.f64.u16">, row<"cvt.rp.f64.u16">,
    row<"cvt.rn.f16.u32">, row<"cvt.rz.f16.u32">, row<"cvt.rm.f16.u32">, row<"cvt.rp.f16.u32">,
    row<"cvt.rn.bf16.u32">, row<"cvt.rz.bf16.u32">, row<"cvt.rm.bf16.u32">, row<"cvt.rp.bf16.u32">,
    row<"cvt.rn.f32.u32">, row<"cvt.rz.f32.u32">, row<"cvt.rm.f32.u32">, row<"cvt.rp.f32.u32">,
    row<"cvt.rn.f64.u32">, row<"cvt.rz.f64.u32">, row<"cvt.rm.f64.u32">, row<"cvt.rp.f64.u32">,
    row<"cvt.rn.f16.u64">, row<"cvt.rz.f16.u64">, row<"cvt.rm.f16.u64">, row<"cvt.rp.f16.u64">,
    row<"cvt.rn.bf16.u64">, row<"cvt.rz.bf16.u64">, row<"cvt.rm.bf16.u64">, row<"cvt.rp.bf16.u64">,
    row<"cvt.rn.f32.u64">, row<"cvt.rz.f32.u64">, row<"cvt.rm.f32.u64">, row<"cvt.rp.f32.u64">,
    row<"cvt.rn.f64.u64">, row<"cvt.rz.f64.u64">, row<"cvt.rm.f64.u64">, row<"cvt.rp.f64.u64">,
    row<"cvt.rn.f16.s8">, row<"cvt.rz.f16.s8">, row<"cvt.rm.f16.s8">, row<"cvt.rp.f16.s8">,
    row<"cvt.rn.bf16.s8">, row<"cvt.rz.bf16.s8">, row<"cvt.rm.bf16.s8">, row<"cvt.rp.bf16.s8">,
    row<"cvt.rn.f32.s8">, row<"cvt.rz.f32.s8">, row<"cvt.rm.f32.s8">, row<"cvt.rp.f32.s8">,
    row<"cvt.rn.f64.s8">, row<"cvt.rz.f64.s8">, row<"cvt.rm.f64.s8">, row<"cvt.rp.f64.s8">,
    row<"cvt.rn.f16.s16">, row<"cvt.rz.f16.s16">, row<"cvt.rm.f16.s16">, row<"cvt.rp.f16.s16">,
    row<"cvt.rn.bf16.s16">, row<"cvt.rz.bf16.s16">, row<"cvt.rm.bf16.s16">, row<"cvt.rp.bf16.s16">,
    row<"cvt.rn.f32.s16">, row<"cvt.rz.f32.s16">, row<"cvt.rm.f32.s16">, row<"cvt.rp.f32.s16">,
    row<"cvt.rn.f64.s16">, row<"cvt.rz.f64.s16">, row<"cvt.rm.f64.s16">, row<"cvt.rp.f64.s16">,
    row<"cvt.rn.f16.s32">, row<"cvt.rz.f16.s32">, row<"cvt.rm.f16.s32">, row<"cvt.rp.f16.s32">,
    row<"cvt.rn.bf16.s32">, row<"cvt.rz.bf16.s32">, row<"cvt.rm.bf16.s32">, row<"cvt.rp.bf16.s32">,
    row<"cvt.rn.f32.s32">, row<"cvt.rz.f32.s32">, row<"cvt.rm.f32.s32">, row<"cvt.rp.f32.s32">,
    row<"cvt.rn.f64.s32">, row<"cvt.rz.f64.s32">, row<"cvt.rm.f64.s32">, row<"cvt.rp.f64.s32">,
    row<"cvt.rn.f16.s64">, row<"cvt.rz.f16.s64">, row<"cvt.rm.f16.s64">, row<"cvt.rp.f16.s64">,
    row<"cvt.rn.bf16.s64">, row<"cvt.rz.bf16.s64">, row<"cvt.rm.bf16.s64">, row<"cvt.rp.bf16.s64">,
    row<"cvt.rn.f32.s64">, row<"cvt.rz.f32.s64">, row<"cvt.rm.f32.s64">, row<"cvt.rp.f32.s64">,
    row<"cvt.rn.f64.s64">, row<"cvt.rz.f64.s64">, row<"cvt.rm.f64.s64">, row<"cvt.rp.f64.s64">,
    row<"cvt.f16.f16">, row<"cvt.rni.f16.f16">, row<"cvt.rzi.f16.f16">, row<"cvt.rmi.f16.f16">,
    row<"cvt.rpi.f16.f16">, row<"cvt.sat.f16.f16">, row<"cvt.rni.sat.f16.f16">,
    row<"cvt.rzi.sat.f16.f16">, row<"cvt.rmi.sat.f16.f16">, row<"cvt.rpi.sat.f16.f16">,
    row<"cvt.rn.f16.bf16">, row<"cvt.rz.f16.bf16">, row<"cvt.rm.f16.bf16">, row<"cvt.rp.f16.bf16">,
    row<"cvt.rn.f16.f32">, row<"cvt.rz.f16.f32">, row<"cvt.rm.f16.f32">, row<"cvt.rp.f16.f32">,
    row<"cvt.rn.sat.f16.f32">, row<"cvt.rz.sat.f16.f32">, row<"cvt.rm.sat.f16.f32">,
    row<"cvt.rp.sat.f16.f32">, row<"cvt.rn.ftz.f16.f32">, row<"cvt.rz.ftz.f16.f32">,
    row<"cvt.rm.ftz.f16.f32">, row<"cvt.rp.ftz.f16.f32">, row<"cvt.rn.ftz.sat.f16.f32">,
    row<"cvt.rz.ftz.sat.f16.f32">, row<"cvt.rm.ftz.sat.f16.f32">, row<"cvt.rp.ftz.sat.f16.f32">,
    row<"cvt.rn.f16.f64">, row<"cvt.rz.f16.f64">, row<"cvt.rm.f16.f64">, row<"cvt.rp.f16.f64">,
    row<"cvt.rn.sat.f16.f64">, row<"cvt.rz.sat.f16.f64">, row<"cvt.rm.sat.f16.f64">,
    row<"cvt.rp.sat.f16.f64">,
    row<"cvt.rn.bf16.f16">, row<"cvt.rz.bf16.f16">, row<"cvt.rm.bf16.f16">, row<"cvt.rp.bf16.f16">,
    row<"cvt.bf16.bf16">, row<"cvt.rni.bf16.bf16">, row<"cvt.rzi.bf16.bf16">,
    row<"cvt.rmi.bf16.bf16">, row<"cvt.rpi.bf16.bf16">, row<"cvt.rn.bf16.f32">,
    row<"cvt.rz.bf16.f32">, row<"cvt.rm.bf16.f32">, row<"cvt.rp.bf16.f32">, row<"cvt.rn.bf16.f64">,
    row<"cvt.rz.bf16.f64">, row<"cvt.rm.bf16.f64">, row<"cvt.rp.bf16.f64">,
    row<"cvt.f32.f16">, row<"cvt.sat.f32.f16">, row<"cvt.ftz.f32.f16">, row<"cvt.ftz.sat.f32.f16">,
    row<"cvt.f32.bf16">, row<"cvt.ftz.f32.bf16">, row<"cvt.f32.f32">, row<"cvt.rni.f32.f32">,
    row<"cvt.rzi.f32.f32">, row<"cvt.rmi.f32.f32">, row<"cvt.rpi.f32.f32">, row<"cvt.sat.f32.f32">,
    row<"cvt.rni.sat.f32.f32">, row<"cvt.rzi.sat.f32.f32">, row<"cvt.rmi.sat.f32.f32">,
    row<"cvt.rpi.sat.f32.f32">, row<"cvt.ftz.f32.f32">, row<"cvt.rni.ftz.f32.f32">,
    row<"cvt.rzi.ftz.f32.f32">, row<"cvt.rmi.ftz.f32.f32">, row<"cvt.rpi.ftz.f32.f32">,
    row<"cvt.ftz.sat.f32.f32">, row<"cvt.rni.ftz.sat.f32.f32">, row<"cvt.rzi.ftz.sat.f32.f32">,
    row<"cvt.rmi.ftz.sat.f32.f32">, row<"cvt.rpi.ftz.sat.f32.f32">, row<"cvt.rn.f32.f64">,
    row<"cvt.rz.f32.f64">, row<"cvt.rm.f32.f64">, row<"cvt.rp.f32.f64">, row<"cvt.rn.sat.f32.f64">,
    row<"cvt.rz.sat.f32.f64">, row<"cvt.rm.sat.f32.f64">, row<"cvt.rp.sat.f32.f64">,
    row<"cvt.rn.ftz.f32.f64">, row<"cvt.rz.ftz.f32.f64">, row<"cvt.rm.ftz.f32.f64">,
    row<"cvt.rp.ftz.f32.f64">, row<"cvt.rn.ftz.sat.f32.f64">, row<"cvt.rz.ftz.sat.f32.f64">,
    row<"cvt.rm.ftz.sat.f32.f64">, row<"cvt.rp.ftz.sat.f32.f64">,
    row<"cvt.f64.f16">, row<"cvt.sat.f64.f16">, row<"cvt.f64.bf16">, row<"cvt.f64.f32">,
    row<"cvt.sat.f64.f32">, row<"cvt.ftz.f64.f32">, row<"cvt.ftz.sat.f64.f32">, row<"cvt.f64.f64">,
    row<"cvt.rni.f64.f64">, row<"cvt.rzi.f64.f64">, row<"cvt.rmi.f64.f64">, row<"cvt.rpi.f64.f64">,
    row<"cvt.sat.f64.f64">, row<"cvt.rni.sat.f64.f64">, row<"cvt.rzi.sat.f64.f64">,
    row<"cvt.rmi.sat.f64.f64">, row<"cvt.rpi.sat.f64.f64">,
    row<"cvt.rn.satfinite.f16.f32">, row<"cvt.rz.satfinite.f16.f32">, row<"cvt.rn.relu.f16.f32">,
    row<"cvt.rz.relu.f16.f32">, row<"cvt.rn.relu.satfinite.f16.f32">,
    row<"cvt.rz.relu.satfinite.f16.f32">, row<"cvt.rn.satfinite.bf16.f32">,
    row<"cvt.rz.satfinite.bf16.f32">, row<"cvt.rn.relu.bf16.f32">, row<"cvt.rz.relu.bf16.f32">,
    row<"cvt.rn.relu.satfinite.bf16.f32">, row<"cvt.rz.relu.satfinite.bf16.f32">,
    row<"cvt.rn.f16x2.f32">, row<"cvt.rz.f16x2.f32">, row<"cvt.rn.satfinite.f16x2.f32">,
    row<"cvt.rz.satfinite.f16x2.f32">, row<"cvt.rn.relu.f16x2.f32">, row<"cvt.rz.relu.f16x2.f32">,
    row<"cvt.rn.relu.satfinite.f16x2.f32">, row<"cvt.rz.relu.satfinite.f16x2.f32">,
    row<"cvt.rn.bf16x2.f32">, row<"cvt.rz.bf16x2.f32">, row<"cvt.rn.satfinite.bf16x2.f32">,
    row<"cvt.rz.satfinite.bf16x2.f32">, row<"cvt.rn.relu.bf16x2.f32">,
    row<"cvt.rz.relu.bf16x2.f32">, row<"cvt.rn.relu.satfinite.bf16x2.f32">,
    row<"cvt.rz.relu.satfinite.bf16x2.f32">, row<"cvt.rna.tf32.f32">,
    row<"cvt.rna.satfinite.tf32.f32">, row<"cvt.rn.tf32.f32">, row<"cvt.rz.tf32.f32">,
    row<"cvt.rn.relu.tf32.f32">, row<"cvt.rz.relu.tf32.f32">, row<"cvt.rn.satfinite.tf32.f32">,
    row<"cvt.rz.satfinite.tf32.f32">, row<"cvt.rn.satfinite.relu.tf32.f32">,
    row<"cvt.rz.satfinite.relu.tf32.f32">, row<"cvt.rn.satfinite.e4m3x2.f32">,
    row<"cvt.rn.satfinite.relu.e4m3x2.f32">, row<"cvt.rn.satfinite.e4m3x2.f16x2">,
    row<"cvt.rn.satfinite.relu.e4m3x2.f16x2">, row<"cvt.rn.f16x2.e4m3x2">,
    row<"cvt.rn.relu.f16x2.e4m3x2">, row<"cvt.rn.satfinite.e5m2x2.f32">,
    row<"cvt.rn.satfinite.relu.e5m2x2.f32">, row<"cvt.rn.satfinite.e5m2x2.f16x2">,
    row<"cvt.rn.satfinite.relu.e5m2x2.f16x2">, row<"cvt.rn.f16x2.e5m2x2">,
    row<"cvt.rn.relu.f16x2.e5m2x2">,
    lanewise<&pack<16, false>>("cvt.pack.sat.u16.s32", kCvtPack),
    lanewise<&pack<16, true>>("cvt.pack.sat.s16.s32", kCvtPack),
    lanewise<&pack_above<8, false>>("cvt.pack.sat.u8.s32.b32", kCvtPack),
    lanewise<&pack_above<8, true>>("cvt.pack.sat.s8.s32.b32", kCvtPack),
    lanewise<&pack_above<4, false>>("cvt.pack.sat.u4.s32.b32", kCvtPack),
    lanewise<&pack_above<4, true>>("cvt.pack.sat.s4.s32.b32", kCvtPack),
    lanewise<&pack_above<2, false>>("cvt.pack.sat.u2.s32.b32", kCvtPack),
    lanewise<&pack_above<2, true>>("cvt.pack.sat.s2.s32.b32", kCvtPack),
};
// clang-format on

}  // namespace
}  // namespace sinter::virtual_gpu::conversion_rows

namespace sinter::virtual_gpu {

std::span<const Semantics> conversion_semantics() { return conversion_rows::kRows; }

}  // namespace sinter::virtual_gpu
