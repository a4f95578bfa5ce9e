// Families of products of 16-bit numbers: one form of bfloat16 (*_bfdot.cc, cmake/isa.cmake) and one of
// float16 (*_fp16.cc), where the processor has the instruction, and none elsewhere: rounding by shifts would
// take longer than products in float32 do.
//
// In namespace walle::kernels, WALLE_BFDOT_FORM(Type, kName, pick) and WALLE_FP16_FORM declare kName of the
// form and define `const Variant<Type>* pick(base::Capabilities)`: nullptr where it may not be used.
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
#define WALLE_FP16_FORM(Type, kName, pick) WALLE_NO_FORM_(Type, pick)
#elif defined(__aarch64__)
#define WALLE_BFDOT_FORM(Type, kName, pick) WALLE_NEON_FORM_(neon_bf16, bf16, Type, kName, pick)
#define WALLE_FP16_FORM(Type, kName, pick) WALLE_NEON_FORM_(neon_fp16, fp16, Type, kName, pick)
#define WALLE_NEON_FORM_(set, capability, Type, kName, pick)                                                \
  WALLE_DECLARE_ISA_(set, Type, kName)                                                                      \
  const Variant<Type>* pick(base::Capabilities usable) {                                                    \
    using base::Capability;                                                                                 \
    static const Variant<Type> form{#set, needs_of(Isa::neon) | base::Capabilities{Capability::capability}, \
                                    &set::kName};                                                           \
    return usable.has(form.needs) ? &form : nullptr;                                                        \
  }
#else
#define WALLE_BFDOT_FORM(Type, kName, pick) WALLE_NO_FORM_(Type, pick)
#define WALLE_FP16_FORM(Type, kName, pick) WALLE_NO_FORM_(Type, pick)
#endif
#define WALLE_NO_FORM_(Type, pick) \
  const Variant<Type>* pick(base::Capabilities) { return nullptr; }
