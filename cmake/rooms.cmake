# walle_room(<folder> [SMALL] [LOOPS] [APART] [HEADERS <header>...]
#            [USES <folder>...] [SCHEMAS <name>...] [LIBS <target>...])
#
# One object library per folder of src/cpp; its own sub-folders belong to it unless they are rooms themselves
# (backends/cpu). Files are found by name: a new operator or kernel needs no line here. *_simd.cc files are
# compiled once per instruction set (cmake/isa.cmake). SMALL is for rooms whose speed nobody measures: they
# are optimised for size. LOOPS is for those whose loops over elements are to be vectors: g++'s -O2 makes
# vectors only of loops whose length it knows. WALLE_ROOMS collects every room, for libraries and tests that
# take them all.
#
# Up to WALLE_BATCH files of a room are compiled as one unit, which reads their headers once: six files of
# bindings take 31.8 s apart and 9.3 s together. APART is for rooms in which every file has names of its own
# that all others have, too (`infer`, `lower`, `supports`); they read the HEADERS precompiled. 0 compiles
# each file by itself (preset dev), so that each proves that it includes what it uses.
set(WALLE_BATCH 10 CACHE STRING "Files compiled as one unit; 0: each by itself")
set(WALLE_ROOMS "" CACHE INTERNAL "")
include(isa)

function(walle_batches target)
  if(WALLE_BATCH GREATER 0)
    # Relocatable: batches of two checkouts are the same to a compiler cache.
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${WALLE_BATCH}
      UNITY_BUILD_RELOCATABLE ON)
    # For g++ a file of a batch is a header, whose types should not be made of what others cannot name.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# What most files of a target read, once: ops/transform/split.cc takes 1.36 s and 0.61 so. Without batches a
# file proves that it includes what it uses.
function(walle_precompiles out)
  set(${out} OFF PARENT_SCOPE)
  if(WALLE_BATCH GREATER 0 AND CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$")
    set(${out} ON PARENT_SCOPE)
  endif()
endfunction()

# A compiler cache reads what g++ has preprocessed, and wants the precompiled header named there; clang's must
# not hold the time at which it was made.
function(walle_cached_headers target)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endfunction()

function(walle_precompile target)
  walle_precompiles(precompiles)
  if(ARGN AND precompiles)
    list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/src/cpp/ REGEX "^[^<]")
    target_precompile_headers(${target} PRIVATE ${ARGN})
    walle_cached_headers(${target})
  endif()
endfunction()

function(walle_reuse_headers target from)
  walle_precompiles(precompiles)
  if(precompiles)
    target_precompile_headers(${target} REUSE_FROM ${from})
    walle_cached_headers(${target})
  endif()
endfunction()

# Files of a room that are compiled for size, each by itself.
function(walle_cold folder)
  foreach(file IN LISTS ARGN)
    set(cold ${PROJECT_SOURCE_DIR}/src/cpp/${folder}/${file}.cc)
    set_source_files_properties(${cold} PROPERTIES
      SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS "$<$<CONFIG:Release>:-Os>")
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang") # which reads no header that was precompiled at another level
      set_source_files_properties(${cold} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

function(walle_room folder)
  cmake_parse_arguments(ARG "SMALL;LOOPS;APART" "" "HEADERS;USES;SCHEMAS;LIBS" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  set(dir ${PROJECT_SOURCE_DIR}/src/cpp/${folder})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cc)
  if(folder STREQUAL "backends")
    list(FILTER sources EXCLUDE REGEX "/backends/[a-z]+/")
  endif()
  set(simd ${sources})
  list(FILTER sources EXCLUDE REGEX "_(simd|vnni|mmla|bfdot|fp16)\\.cc$")
  list(FILTER simd INCLUDE REGEX "_(simd|vnni|mmla|bfdot|fp16)\\.cc$")
  if(NOT sources)
    set(stamp ${CMAKE_CURRENT_BINARY_DIR}/empty_${name}.cc)
    file(WRITE ${stamp}.in "")
    configure_file(${stamp}.in ${stamp} COPYONLY)
    set(sources ${stamp})
  endif()
  add_library(walle_${name} OBJECT ${sources})
  target_link_libraries(walle_${name} PUBLIC walle_flags ${ARG_LIBS})
  if(NOT ARG_APART)
    walle_batches(walle_${name})
  endif()
  if(folder MATCHES "^(search|runtime)$")  # cached decisions and packed weights hold for one version
    target_compile_definitions(walle_${name} PRIVATE WALLE_VERSION_TEXT="${PROJECT_VERSION}")
  endif()
  walle_precompile(walle_${name} ${ARG_HEADERS})
  if(ARG_SMALL)
    target_compile_options(walle_${name} PRIVATE $<$<CONFIG:Release>:-Os>)
  endif()
  if(ARG_LOOPS)
    set(gnu_release $<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>)
    target_compile_options(walle_${name} PRIVATE $<${gnu_release}:-ftree-vectorize>
      $<${gnu_release}:-fvect-cost-model=dynamic>)
  endif()
  foreach(lower IN LISTS ARG_USES)
    string(REPLACE "/" "_" lower ${lower})
    target_link_libraries(walle_${name} PUBLIC walle_${lower}_headers)
  endforeach()
  add_library(walle_${name}_headers INTERFACE)
  foreach(schema IN LISTS ARG_SCHEMAS)
    add_dependencies(walle_${name} walle_schema_${schema})
    target_include_directories(walle_${name} SYSTEM PUBLIC
      ${WALLE_GENERATED_DIR} ${WALLE_FLATBUFFERS_INCLUDE})
  endforeach()
  if(simd)
    walle_compile_per_isa(walle_${name} ${simd})
  endif()
  set(WALLE_ROOMS ${WALLE_ROOMS} walle_${name} CACHE INTERNAL "")
endfunction()

# Links every room registered so far into `target`, privately.
function(walle_link_rooms target)
  target_link_libraries(${target} PRIVATE ${WALLE_ROOMS})
endfunction()
