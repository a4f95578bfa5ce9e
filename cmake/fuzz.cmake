# libFuzzer targets, one per tests/fuzz/*_fuzz.cc. The preset `asan-ubsan` sets clang and instruments every
# room with coverage, AddressSanitizer and UndefinedBehaviorSanitizer: one build serves the C++ tests and the
# fuzz targets.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "the fuzz targets need clang: cmake --preset asan-ubsan")
endif()

file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cc)
foreach(source IN LISTS fuzz_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  walle_link_rooms(${name})
  target_link_libraries(${name} PRIVATE walle_flags)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endforeach()
