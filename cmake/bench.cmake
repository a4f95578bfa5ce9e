# _bench: what the benchmarks measure with, beside their Python files in bench/native. Never installed.
# cmake/python.cmake has found pybind11.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/native/*.cc)
pybind11_add_module(_bench MODULE NO_EXTRAS ${sources})
walle_link_rooms(_bench)
target_link_libraries(_bench PRIVATE walle_flags)
set_target_properties(_bench PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_SOURCE_DIR}/bench/native)
if(NOT APPLE AND NOT WIN32)
  target_link_options(_bench PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/src/cpp/pybind/exports.map
    -Wl,-Bsymbolic)
endif()
