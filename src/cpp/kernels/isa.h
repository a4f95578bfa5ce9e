// The instruction sets the *_simd.cc files are compiled for, and the choice between them at run time.
//
// A kernel family exports one table of function pointers per set, `extern const Table kName` in namespace
// walle::kernels::<isa>; WALLE_PICK_PER_ISA makes the function that picks the table. Kernels that stand on
// more than a set are variants of a family (kernels/variants.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/capabilities.h"
#include "base/status.h"

namespace walle::kernels {

// The sets of base/capabilities.inc.
enum class Isa : uint8_t {
#define WALLE_INSTRUCTION_SET(name, ...) name,
#include "base/capabilities.inc"
};

std::string_view isa_name(Isa isa);
base::Capabilities needs_of(Isa isa);

// Sets this machine can run and this build contains; best last, scalar first.
const std::vector<Isa>& supported_isas();

// What kernels may use: all that the machine can do, or what the environment variable WALLE_CPU names, a set
// with or without what stands beside it ("avx2+avx_vnni"). It is read at each call, so that sessions of one
// process may differ. An argument error for a name that is unknown or that this machine cannot run.
Result<base::Capabilities> usable_capabilities();
// The best set within them.
Result<Isa> select_isa();

}  // namespace walle::kernels

// In namespace walle::kernels: declares kName of every set and defines `const Type& pick(Isa)`.
#define WALLE_PICK_PER_ISA(Type, kName, pick)           \
  WALLE_FOR_EACH_ISA_(WALLE_DECLARE_ISA_, Type, kName)  \
  const Type& pick(Isa isa) {                           \
    switch (isa) {                                      \
      WALLE_FOR_EACH_ISA_(WALLE_CASE_ISA_, Type, kName) \
      default: return scalar::kName;                    \
    }                                                   \
  }
#define WALLE_DECLARE_ISA_(set, Type, kName) \
  namespace set {                            \
  extern const Type kName;                   \
  }
#define WALLE_CASE_ISA_(set, Type, kName) \
  case Isa::set: return set::kName;
#if defined(__x86_64__) && defined(WALLE_TWO_ISAS)
#define WALLE_FOR_EACH_ISA_(X, T, k) X(scalar, T, k) X(avx2, T, k)
#elif defined(__x86_64__)
#define WALLE_FOR_EACH_ISA_(X, T, k) X(scalar, T, k) X(sse4, T, k) X(avx2, T, k) X(avx512, T, k)
#elif defined(__aarch64__)
#define WALLE_FOR_EACH_ISA_(X, T, k) X(scalar, T, k) X(neon, T, k)
#else
#define WALLE_FOR_EACH_ISA_(X, T, k) X(scalar, T, k)
#endif
