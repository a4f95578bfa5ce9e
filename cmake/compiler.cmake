# One place for language level, warnings, sanitizers and ccache.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# ELF: version scripts say what a library shows (cmake/capi.cmake). Hidden objects would leave them no choice,
# and _core finds the engine in libwalle.
if(APPLE OR WIN32)
  set(CMAKE_CXX_VISIBILITY_PRESET hidden)
endif()
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# -O3 is for the kernels of each instruction set, whose files ask for it (cmake/isa.cmake): elsewhere it
# clones and unrolls what is called a few times. kernels/reduce/reduce.cc takes 7.9 s and 286 KB at -O3, 2.8 s
# and 81 KB at -O2 with the vectoriser's own cost model.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

find_program(WALLE_CCACHE ccache)
if(WALLE_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${WALLE_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_CURRENT_SOURCE_DIR}/cmake/ccache.sh ${WALLE_CCACHE})
endif()

find_package(Threads REQUIRED)

# -Wrestrict: g++ 12 reports overlaps inside std::string concatenation that cannot happen (GCC bug 105651).
add_library(walle_flags INTERFACE)
# A switch over an enumeration without a case for each kind is an error everywhere: what a kind that somebody
# adds later means there is nobody's guess. tools/check_style.py refuses the `default` that would hide it.
target_compile_options(walle_flags INTERFACE -Wall -Wextra -Werror=switch $<$<CONFIG:Debug>:-Werror>
  $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local> $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# g++ 12 counts designated initialisers, whose purpose is to leave the other fields at their defaults, as
# missing ones.
target_compile_options(walle_flags INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-missing-field-initializers>)
# Functions and data in sections of their own: a library drops what nothing in it reaches. Without semantic
# interposition calls inside a library are inlined and direct, as if its symbols were hidden.
if(NOT APPLE AND NOT WIN32)
  target_compile_options(walle_flags INTERFACE -ffunction-sections -fdata-sections
    -fno-semantic-interposition)
endif()
target_include_directories(walle_flags INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/src/cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/src/cpp/include)
target_link_libraries(walle_flags INTERFACE Threads::Threads)
if(WALLE_SANITIZE)
  target_compile_options(walle_flags INTERFACE -fsanitize=${WALLE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(walle_flags INTERFACE -fsanitize=${WALLE_SANITIZE})
endif()
