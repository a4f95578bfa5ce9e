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
  # For processors from before 2013: their vectors are spelled out, and what -O3 unrolls beside them is 57 KB.
  # Least of 75 runs, -O3 and -O2: SqueezeNet 19.6 and 18.6 ms, MobileNetV2 26.2 and 26.5, MiniLM 128 and 117.
  set(WALLE_ISA_FLAGS_sse4 -msse4.2 $<$<CONFIG:Release>:-O2>)
  set(WALLE_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c)
  set(WALLE_ISA_FLAGS_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c
    -mprefer-vector-width=512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(WALLE_ISAS scalar neon)
  # Every processor of this architecture has NEON: what remains is a reference.
  set(WALLE_ISA_FLAGS_scalar $<$<CONFIG:Release>:-Os>)
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
# 18, and is no faster (voice_rnn, gru); and tiles whose loops are unrolled by hand: 96 KB and 40. By a
# property of the set's library: options of a file stand behind those of its set, and scalar's -Os was lost.
set(WALLE_PLAIN_LOOPS ${PROJECT_SOURCE_DIR}/src/cpp/kernels/rnn/rnn_simd.cc
  ${PROJECT_SOURCE_DIR}/src/cpp/kernels/gemm_nbits/nbits_simd.cc
  ${PROJECT_SOURCE_DIR}/src/cpp/kernels/gemm_nbits/nbits_pairs_simd.cc
  ${PROJECT_SOURCE_DIR}/src/cpp/kernels/gemm_nbits/nbits_vnni.cc
  ${PROJECT_SOURCE_DIR}/src/cpp/kernels/gemm_bf16/bf16_bfdot.cc
  ${PROJECT_SOURCE_DIR}/src/cpp/kernels/conv_bf16/conv_bf16_bfdot.cc
  ${PROJECT_SOURCE_DIR}/src/cpp/kernels/gemm_bf16/gemm_fp16.cc
  ${PROJECT_SOURCE_DIR}/src/cpp/kernels/conv_bf16/conv_fp16.cc
  ${PROJECT_SOURCE_DIR}/src/cpp/kernels/halves/halves_simd.cc
  ${PROJECT_SOURCE_DIR}/src/cpp/kernels/blocked_bf16/blocked_bf16_bfdot.cc)
set_source_files_properties(${WALLE_PLAIN_LOOPS} PROPERTIES COMPILE_OPTIONS
  "$<$<CONFIG:Release>:$<TARGET_PROPERTY:WALLE_PLAIN_LOOPS>>")

# Tiles by lanes of NEON say themselves how far ahead of its use a load stands; g++ 12 would put all loads of
# a step in front and spill them (76 instructions for 48 multiply-adds, 67 as written; simd_by_lane.h).
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(WALLE_BY_LANE gemm/gemm_simd.cc blocked/blocked_simd.cc conv/channel_lanes_simd.cc
    gemm_int8/int8_simd.cc gemm_int8/int8_vnni.cc gemm_int8/int8_mmla.cc
    conv_int8/conv_int8_simd.cc conv_int8/conv_int8_vnni.cc conv_int8/conv_int8_mmla.cc
    gemm_bf16/gemm_fp16.cc conv_bf16/conv_fp16.cc)
  list(TRANSFORM WALLE_BY_LANE PREPEND ${PROJECT_SOURCE_DIR}/src/cpp/kernels/)
  set_property(SOURCE ${WALLE_BY_LANE} APPEND PROPERTY COMPILE_OPTIONS -fno-schedule-insns)
endif()

# Codes of quantised layers are rounded products and sums: a multiply-add where a set has one, and none where
# it has not, would give other codes on other machines.
set(WALLE_CODES codes/codes_simd.cc conv_int8/conv_int8_simd.cc conv_int8/conv_int8_vnni.cc
  conv_int8/conv_int8_mmla.cc)
list(TRANSFORM WALLE_CODES PREPEND ${PROJECT_SOURCE_DIR}/src/cpp/kernels/)
set_property(SOURCE ${WALLE_CODES} APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off)

# Roots of float64 as vectors, which cannot tell errno.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/cpp/kernels/eltwise/unary.cc PROPERTIES COMPILE_OPTIONS
  "-fno-math-errno")

# Kernels that stand on one capability beside a set (kernels/variants.h): *_vnni.cc on products of four int8,
# *_mmla.cc on those of eight of two rows and two columns, *_bfdot.cc on those of two bfloat16,
# *_fp16.cc on arithmetic in float16.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  set(WALLE_FORMS avx_vnni avx512_vnni avx512_bf16)
  set(WALLE_ISA_FLAGS_avx_vnni -mavx2 -mfma -mf16c -mavxvnni)
  set(WALLE_ISA_FLAGS_avx512_vnni -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mamx-tile
    -mamx-int8 -mfma -mf16c -mprefer-vector-width=512)
  set(WALLE_ISA_FLAGS_avx512_bf16 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512bf16 -mamx-tile
    -mamx-bf16 -mfma -mf16c -mprefer-vector-width=512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(WALLE_FORMS neon_dot neon_i8mm neon_bf16 neon_fp16)
  # Features one by one for Clang, because Zig's takes no -march beside its -target.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(WALLE_ISA_FLAGS_neon_dot -march=armv8.2-a+dotprod)
    set(WALLE_ISA_FLAGS_neon_i8mm -march=armv8.2-a+dotprod+i8mm)
    set(WALLE_ISA_FLAGS_neon_bf16 -march=armv8.2-a+bf16)
    set(WALLE_ISA_FLAGS_neon_fp16 -march=armv8.2-a+fp16)
  else()
    set(WALLE_ISA_FLAGS_neon_dot "SHELL:-Xclang -target-feature -Xclang +dotprod")
    set(WALLE_ISA_FLAGS_neon_i8mm "SHELL:-Xclang -target-feature -Xclang +dotprod"
      "SHELL:-Xclang -target-feature -Xclang +i8mm")
    set(WALLE_ISA_FLAGS_neon_bf16 "SHELL:-Xclang -target-feature -Xclang +bf16")
    set(WALLE_ISA_FLAGS_neon_fp16 "SHELL:-Xclang -target-feature -Xclang +fullfp16")
  endif()
endif()

function(walle_compile_per_isa room)
  set(vnni ${ARGN})
  list(FILTER vnni INCLUDE REGEX "_vnni\\.cc$")
  set(bfdot ${ARGN})
  list(FILTER bfdot INCLUDE REGEX "_bfdot\\.cc$")
  set(mmla ${ARGN})
  list(FILTER mmla INCLUDE REGEX "_mmla\\.cc$")
  set(plain ${ARGN})
  set(fp16 ${ARGN})
  list(FILTER fp16 INCLUDE REGEX "_fp16\\.cc$")
  list(FILTER plain EXCLUDE REGEX "_(vnni|mmla|bfdot|fp16)\\.cc$")
  foreach(isa IN LISTS WALLE_ISAS WALLE_FORMS)
    string(REGEX REPLACE "_(vnni|dot|i8mm|bf16|fp16)$" "" set ${isa})
    string(REGEX REPLACE "^avx$" "avx2" set ${set})
    string(TOUPPER ${set} upper)
    set(files ${plain})
    if(isa MATCHES "_(vnni|dot)$")
      set(files ${vnni})
    elseif(isa MATCHES "_i8mm$")
      set(files ${mmla})
    elseif(isa MATCHES "_fp16$")
      set(files ${fp16})
    elseif(isa MATCHES "_bf16$")
      set(files ${bfdot})
    endif()
    if(NOT files)
      continue()
    endif()
    add_library(${room}_${isa} OBJECT ${files})
    target_link_libraries(${room}_${isa} PUBLIC walle_flags)
    target_compile_definitions(${room}_${isa} PRIVATE WALLE_ISA_NS=${isa} WALLE_ISA_${upper}=1)
    target_compile_options(${room}_${isa} PRIVATE $<$<CONFIG:Release>:-O3> ${WALLE_ISA_FLAGS_${isa}})
    if(WALLE_ISA_FLAGS_${isa} MATCHES "-Os")
      set_target_properties(${room}_${isa} PROPERTIES WALLE_PLAIN_LOOPS -Os)
    else()
      set_target_properties(${room}_${isa} PROPERTIES WALLE_PLAIN_LOOPS -O2)
    endif()
    if(WALLE_SANITIZE MATCHES "undefined|fuzzer")
      target_link_libraries(${room}_${isa} PRIVATE walle_kernel_sanitizers)
    endif()
    set(WALLE_ROOMS ${WALLE_ROOMS} ${room}_${isa} CACHE INTERNAL "")
  endforeach()
  set(WALLE_ROOMS ${WALLE_ROOMS} PARENT_SCOPE)
endfunction()
