// Families of products that have a form by tiles of 16 rows (kernels/simd/tiles.h), beside those by vectors.
//
// In namespace walle::kernels, WALLE_AMX_FORM(name, beside, Type, kName, pick) declares kName, which the
// files of the form `beside` export, and defines `const Variant<Type>* pick(base::Capabilities)`: nullptr
// where it may not be used. `name` is what the form is called, and the capability that it needs beside that
// form's.
#pragma once

#include "kernels/isa.h"
#include "kernels/tiles_lent.h"
#include "kernels/variants.h"

#if defined(__x86_64__)
#define WALLE_AMX_FORM(name, beside, Type, kName, pick)                                          \
  WALLE_DECLARE_ISA_(beside, Type, kName)                                                        \
  const Variant<Type>* pick(base::Capabilities usable) {                                         \
    using base::Capability;                                                                      \
    static const Variant<Type> form{                                                             \
        #name, needs_of(Isa::avx512) | base::Capabilities{Capability::beside, Capability::name}, \
        &beside::kName};                                                                         \
    return usable.has(form.needs) && tiles_lent() ? &form : nullptr;                             \
  }
#else
#define WALLE_AMX_FORM(name, beside, Type, kName, pick) \
  const Variant<Type>* pick(base::Capabilities) { return nullptr; }
#endif
