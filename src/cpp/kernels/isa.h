// The instruction sets the *_simd.cc files are compiled for, and the choice between them at run time.
//
// A kernel family exports one table of function pointers per set, `extern const Table kName` in namespace
// walle::kernels::<isa>; WALLE_PICK_PER_ISA makes the function that picks the table.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace walle::kernels {

// scalar: what the compiler may assume of every machine of this architecture. Ordered: later is better.
enum class Isa : uint8_t { scalar, sse4, avx2, avx512, neon };

std::string_view isa_name(Isa isa);

// Sets this machine can run and this build contains; best last, scalar first.
const std::vector<Isa>& supported_isas();

// The best set, or the one the environment variable WALLE_CPU names (read at each call, so that sessions of
// one process may differ). An argument error for a name that is unknown or that this machine cannot run.
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
