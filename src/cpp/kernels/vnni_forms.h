// Families of 8-bit products: a form for each set, and one for each product of four bytes that stands beside
// a set (*_vnni.cc, cmake/isa.cmake), or of eight bytes of two rows and two columns (*_mmla.cc).
//
// In namespace walle::kernels, WALLE_VNNI_FORMS(Type, kName, forms) declares kName of every form and defines
// `std::span<const Variant<Type>> forms()`: in order of speed; the last that a processor has is its best.
// WALLE_MMLA_FORMS is for families that have those of eight bytes as well.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "kernels/isa.h"
#include "kernels/variants.h"

#define WALLE_SET_FORM_(set, Type, kName) Variant<Type>{isa_name(Isa::set), needs_of(Isa::set), &set::kName},

#if defined(__x86_64__)
#define WALLE_DECLARE_VNNI_(Type, kName)    \
  WALLE_DECLARE_ISA_(avx_vnni, Type, kName) \
  WALLE_DECLARE_ISA_(avx512_vnni, Type, kName)
// Words of 256 bits are slower than pairs of 512.
#define WALLE_ADD_VNNI_(Type, kName, out)                                                              \
  {                                                                                                    \
    using base::Capability;                                                                            \
    const auto wider = std::ranges::find(out, isa_name(Isa::avx512), &Variant<Type>::name);            \
    out.insert(wider, {"avx_vnni", needs_of(Isa::avx2) | base::Capabilities{Capability::avx_vnni},     \
                       &avx_vnni::kName});                                                             \
    out.push_back({"avx512_vnni", needs_of(Isa::avx512) | base::Capabilities{Capability::avx512_vnni}, \
                   &avx512_vnni::kName});                                                              \
  }
#elif defined(__aarch64__)
#define WALLE_DECLARE_VNNI_(Type, kName) WALLE_DECLARE_ISA_(neon_dot, Type, kName)
#define WALLE_ADD_VNNI_(Type, kName, out) \
  out.push_back(                          \
      {"neon_dot", needs_of(Isa::neon) | base::Capabilities{base::Capability::dot}, &neon_dot::kName});
#define WALLE_DECLARE_MMLA_(Type, kName) \
  WALLE_DECLARE_VNNI_(Type, kName)       \
  WALLE_DECLARE_ISA_(neon_i8mm, Type, kName)
#define WALLE_ADD_MMLA_(Type, kName, out)                                                                  \
  WALLE_ADD_VNNI_(Type, kName, out)                                                                        \
  using base::Capability;                                                                                  \
  out.push_back({"neon_i8mm", needs_of(Isa::neon) | base::Capabilities{Capability::dot, Capability::i8mm}, \
                 &neon_i8mm::kName});
#else
#define WALLE_DECLARE_VNNI_(Type, kName)
#define WALLE_ADD_VNNI_(Type, kName, out)
#endif
#if !defined(WALLE_ADD_MMLA_)
#define WALLE_DECLARE_MMLA_ WALLE_DECLARE_VNNI_
#define WALLE_ADD_MMLA_ WALLE_ADD_VNNI_
#endif

#define WALLE_VNNI_FORMS(Type, kName, forms) \
  WALLE_FORMS_(Type, kName, forms, WALLE_DECLARE_VNNI_, WALLE_ADD_VNNI_)
#define WALLE_MMLA_FORMS(Type, kName, forms) \
  WALLE_FORMS_(Type, kName, forms, WALLE_DECLARE_MMLA_, WALLE_ADD_MMLA_)
#define WALLE_FORMS_(Type, kName, forms, WALLE_DECLARE_BESIDE_, WALLE_ADD_BESIDE_)       \
  WALLE_FOR_EACH_ISA_(WALLE_DECLARE_ISA_, Type, kName)                                   \
  WALLE_DECLARE_BESIDE_(Type, kName)                                                     \
  std::span<const Variant<Type>> forms() {                                               \
    static const std::vector<Variant<Type>> made = [] {                                  \
      std::vector<Variant<Type>> out{WALLE_FOR_EACH_ISA_(WALLE_SET_FORM_, Type, kName)}; \
      WALLE_ADD_BESIDE_(Type, kName, out)                                                \
      return out;                                                                        \
    }();                                                                                 \
    return made;                                                                         \
  }
