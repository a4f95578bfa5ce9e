# libFuzzer targets, one per tests/fuzz/*_fuzz.cc. Configure with the preset `fuzz`: it sets clang and instruments every
# room with coverage, AddressSanitizer and UndefinedBehaviorSanitizer.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "the fuzz targets need clang: cmake --preset fuzz")
endif()

file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cc)
foreach(source IN LISTS fuzz_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  # What a model file meets before anything runs; kernels and backends need not be built a second time.
  target_link_libraries(${name} PRIVATE walle_flags walle_base walle_tensor walle_raster walle_ir walle_ops)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined)
endforeach()
