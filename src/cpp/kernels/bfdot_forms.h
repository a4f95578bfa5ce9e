// Families of products of bfloat16: one form, where the processor has the instruction (*_bfdot.cc,
// cmake/isa.cmake), and none elsewhere: rounding by shifts would take longer than products in float32 do.
//
// In namespace walle::kernels, WALLE_BFDOT_FORM(Type, kName, pick) declares kName of the form and defines
// `const Variant<Type>* pick(base::Capabilities)`: nullptr where it may not be used.
#pragma once

#include "kernels/isa.h"
#include "kernels/variants.h"

#if defined(__x86_64__)
#define WALLE_BFDOT_FORM(Type, kName, pick)                                                              \
  WALLE_DECLARE_ISA_(avx512_bf16, Type, kName)                                                           \
  const Variant<Type>* pick(base::Capabilities usable) {                                                 \
    using base::Capability;                                                                              \
    static const Variant<Type> form{"avx512_bf16",                                                       \
                                    needs_of(Isa::avx512) | base::Capabilities{Capability::avx512_bf16}, \
                                    &avx512_bf16::kName};                                                \
    return usable.has(form.needs) ? &form : nullptr;                                                     \
  }
#elif defined(__aarch64__)
#define WALLE_BFDOT_FORM(Type, kName, pick)                                                                  \
  WALLE_DECLARE_ISA_(neon_bf16, Type, kName)                                                                 \
  const Variant<Type>* pick(base::Capabilities usable) {                                                     \
    using base::Capability;                                                                                  \
    static const Variant<Type> form{"neon_bf16", needs_of(Isa::neon) | base::Capabilities{Capability::bf16}, \
                                    &neon_bf16::kName};                                                      \
    return usable.has(form.needs) ? &form : nullptr;                                                         \
  }
#else
#define WALLE_BFDOT_FORM(Type, kName, pick) \
  const Variant<Type>* pick(base::Capabilities) { return nullptr; }
#endif
