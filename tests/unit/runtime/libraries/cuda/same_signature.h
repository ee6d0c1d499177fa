// Compares a declared function pointer with a function of a real header.
#pragma once

#include <type_traits>

namespace sinter::test {

/// True for types of the same size that are both pointers, both no pointers, or both void.
template <class Ours, class Real>
constexpr bool kSameKind =
    sizeof(Ours) == sizeof(Real) && std::is_pointer_v<Ours> == std::is_pointer_v<Real>;
template <>
inline constexpr bool kSameKind<void, void> = true;

/// True if result and parameters have the same kinds, one by one.
template <class Ours, class Real>
constexpr bool kSameSignature = false;
template <class OurResult, class RealResult, class... Ours, class... Real>
requires(sizeof...(Ours) ==
         sizeof...(
             Real)) constexpr bool kSameSignature<OurResult (*)(Ours...), RealResult (*)(Real...)> =
    kSameKind<OurResult, RealResult> && (kSameKind<Ours, Real> && ...);

}  // namespace sinter::test
