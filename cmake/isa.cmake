# *_simd.cc files hold one portable source over GCC/Clang vector extensions. Each is compiled once per
# instruction set with WALLE_ISA_NS set to the set's name (a namespace) and WALLE_ISA_<NAME>=1; kernels/isa.h
# chooses between them at run time.
#
# g++ 12.2 vectorises exp/tanh polynomials only with the two math flags; they are per kernel file, never
# global, because reductions elsewhere must see NaN and infinity.
# Sanitizer builds: every kernel is the same source, and SSE4 and AVX-512 are a third of their minutes.
option(WALLE_TWO_ISAS "kernels of two instruction sets alone: scalar, and AVX2 on x86-64" OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(WALLE_ISAS scalar sse4 avx2 avx512)
  if(WALLE_TWO_ISAS)
    set(WALLE_ISAS scalar avx2)
    target_compile_definitions(walle_flags INTERFACE WALLE_TWO_ISAS)
  endif()
  # Every x86-64 processor since 2008 has SSE4.2: what remains is a reference, 200 KB at -Os and 461 at -O3.
  set(WALLE_ISA_FLAGS_scalar $<$<CONFIG:Release>:-Os>)
  set(WALLE_ISA_FLAGS_sse4 -msse4.2)
  set(WALLE_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c)
  set(WALLE_ISA_FLAGS_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c
    -mprefer-vector-width=512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(WALLE_ISAS scalar neon)
  set(WALLE_ISA_FLAGS_scalar "")
  set(WALLE_ISA_FLAGS_neon "")
else()
  set(WALLE_ISAS scalar)
  set(WALLE_ISA_FLAGS_scalar "")
endif()

# What unrolled tiles leave out of the sanitizers. With checks of pointer arithmetic at every load clang 14
# takes 178 s for blocked_simd.cc of AVX-512 and 35 s without; AddressSanitizer watches what is behind
# the pointer anyway. Coverage is for parsers. A library of its own, because a flag that takes back must stand
# behind the one that asks, and options of linked libraries come in their order.
add_library(walle_kernel_sanitizers INTERFACE)
target_compile_options(walle_kernel_sanitizers INTERFACE
  $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=fuzzer-no-link,pointer-overflow,object-size>
  $<$<CXX_COMPILER_ID:GNU>:-fno-sanitize=pointer-overflow,object-size>)

# Loops over a recurrence's gates: -O3 copies them for every branch within, 66 to 76 KB a set where -O2 takes
# 18, and is no faster (voice_rnn, gru).
set(WALLE_PLAIN_LOOPS ${PROJECT_SOURCE_DIR}/src/cpp/kernels/rnn/rnn_simd.cc)
set_source_files_properties(${WALLE_PLAIN_LOOPS} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O2>")

# *_vnni.cc: kernels that stand on one capability beside a set, products of four int8 (kernels/variants.h).
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(WALLE_VNNI_FORMS avx_vnni avx512_vnni)
  set(WALLE_ISA_FLAGS_avx_vnni -mavx2 -mfma -mf16c -mavxvnni)
  set(WALLE_ISA_FLAGS_avx512_vnni -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mfma -mf16c
    -mprefer-vector-width=512)
endif()

function(walle_compile_per_isa room)
  set(vnni ${ARGN})
  list(FILTER vnni INCLUDE REGEX "_vnni\\.cc$")
  set(plain ${ARGN})
  list(FILTER plain EXCLUDE REGEX "_vnni\\.cc$")
  foreach(isa IN LISTS WALLE_ISAS WALLE_VNNI_FORMS)
    string(REPLACE "_vnni" "" set ${isa})
    string(REGEX REPLACE "^avx$" "avx2" set ${set})
    string(TOUPPER ${set} upper)
    set(files ${plain})
    if(isa MATCHES "_vnni$")
      set(files ${vnni})
    endif()
    if(NOT files)
      continue()
    endif()
    add_library(${room}_${isa} OBJECT ${files})
    target_link_libraries(${room}_${isa} PUBLIC walle_flags)
    target_compile_definitions(${room}_${isa} PRIVATE WALLE_ISA_NS=${isa} WALLE_ISA_${upper}=1)
    target_compile_options(${room}_${isa} PRIVATE $<$<CONFIG:Release>:-O3> ${WALLE_ISA_FLAGS_${isa}})
    if(WALLE_SANITIZE MATCHES "undefined|fuzzer")
      target_link_libraries(${room}_${isa} PRIVATE walle_kernel_sanitizers)
    endif()
    set(WALLE_ROOMS ${WALLE_ROOMS} ${room}_${isa} CACHE INTERNAL "")
  endforeach()
  set(WALLE_ROOMS ${WALLE_ROOMS} PARENT_SCOPE)
endfunction()
