# One GoogleTest program per room, from tests/cpp/<room>/**/*_test.cc; ctest runs them all.
enable_testing()
find_package(GTest REQUIRED)
include(GoogleTest)

# One archive that every test program takes what it needs from: fourteen links of all objects took longer.
add_library(walle_rooms STATIC EXCLUDE_FROM_ALL)
target_link_libraries(walle_rooms PUBLIC ${WALLE_ROOMS})

add_library(walle_test_main OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/cpp/main.cc)
target_link_libraries(walle_test_main PUBLIC walle_flags GTest::gtest)

file(GLOB room_dirs CONFIGURE_DEPENDS LIST_DIRECTORIES true ${PROJECT_SOURCE_DIR}/tests/cpp/*)
foreach(dir IN LISTS room_dirs)
  if(NOT IS_DIRECTORY ${dir})
    continue()
  endif()
  get_filename_component(room ${dir} NAME)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*_test.cc ${dir}/*_emulated.cc)
  if(NOT sources)
    continue()
  endif()
  add_executable(${room}_test ${sources})
  target_include_directories(${room}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests/cpp)
  target_link_libraries(${room}_test PRIVATE walle_test_main walle_rooms walle_flags)
  # An assertion's expansion costs the optimiser more than the code under test, which lies in the rooms and
  # keeps its own flags: matcher_test.cc takes 20.3 s at -O3, 11.9 s at -O1.
  target_compile_options(${room}_test PRIVATE $<$<CONFIG:Release>:-O1>)
  # g++ 12 sees a copy beyond the 32 bytes of a short std::string at -O1, where it does not know which it is.
  target_compile_options(${room}_test PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>)
  if(room STREQUAL "base")  # its precompiled headers serve all
    walle_precompile(base_test <gtest/gtest.h> <algorithm> <atomic> <cmath> <functional> <limits> <random>
      <string> <thread> <vector> "base/env.h" "base/status.h" "tensor/tensor.h")
  else()
    walle_reuse_headers(${room}_test base_test)
  endif()
  add_test(NAME ${room} COMMAND ${room}_test)
  if(CMAKE_CROSSCOMPILING)
    # A test that starts its own program does so in the emulator, too.
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " runner)
    set_property(TEST ${room} APPEND PROPERTY ENVIRONMENT "WALLE_TEST_RUNNER=${runner}")
  endif()
  # Two at a time, but for those that own the machine: children that are forked and killed, threads that are
  # starved on purpose, times that are promised.
  if(room MATCHES "^(base|container|stream|vm)$")
    set_tests_properties(${room} PROPERTIES RUN_SERIAL ON)
  endif()
  if(room MATCHES "^(vm|container)$")
    set(vm_tests ${PROJECT_SOURCE_DIR}/tests/cpp/vm)
    set(vm_environment "TSAN_OPTIONS=suppressions=${vm_tests}/tsan.supp")
    if(TARGET vm_full)
      # The libraries of this very build: cross-compiled or instrumented like the test.
      add_dependencies(${room}_test vm_full vm_device)
      target_compile_definitions(${room}_test PRIVATE WALLE_VM_DIR="$<TARGET_FILE_DIR:vm_full>")
    else()
      # Those of the release build, whose memory the sanitizers do not follow.
      list(APPEND vm_environment "LSAN_OPTIONS=suppressions=${vm_tests}/lsan.supp:print_suppressions=0")
    endif()
    set_property(TEST ${room} APPEND PROPERTY ENVIRONMENT "${vm_environment}")
  endif()
endforeach()
