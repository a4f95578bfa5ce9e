# What connects a device with its server (docs/concepts/trust.md, docs/concepts/release.md): a room of
# libwalle and of _core like any other, so every build needs the headers of JSON for Modern C++. They suit
# every target: a cross build takes the host's, through a folder that holds them alone.
find_path(WALLE_JSON_INCLUDE nlohmann/json.hpp NO_CMAKE_FIND_ROOT_PATH)
if(NOT WALLE_JSON_INCLUDE)
  message(FATAL_ERROR "nlohmann/json.hpp is missing: the room link/ reads signed metadata with it. "
    "Install it (Debian: apt-get install nlohmann-json3-dev, as tools/setup.sh does), or set "
    "WALLE_JSON_INCLUDE to the folder above nlohmann/. Headers alone: nothing is linked.")
endif()
walle_room(link SMALL USES store base SCHEMAS package plan report LIBS ZLIB::ZLIB)
target_link_libraries(walle_link PRIVATE walle_sodium)
# g++ makes copies of members of std::string and the like for callers that pass less, one set in each file:
# 17 KB of what the linker would otherwise keep once.
target_compile_options(walle_link PRIVATE $<$<AND:$<CONFIG:Release>,$<CXX_COMPILER_ID:GNU>>:-fno-ipa-sra>)
# What is asked of a plan for every header.
foreach(hot IN ITEMS decide decision_match)
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/cpp/link/policy/${hot}.cc PROPERTY COMPILE_OPTIONS
    $<$<CONFIG:Release>:-O2>)
endforeach()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/json_headers)
file(CREATE_LINK ${WALLE_JSON_INCLUDE}/nlohmann ${CMAKE_BINARY_DIR}/json_headers/nlohmann SYMBOLIC)
target_include_directories(walle_link SYSTEM PRIVATE ${CMAKE_BINARY_DIR}/json_headers)

# The three commands of the public tuf-conformance suite.
if(WALLE_BUILD_TESTS)
  file(GLOB walle_tuf_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/conformance/tuf/*.cc)
  add_executable(walle-tuf ${walle_tuf_sources})
  target_include_directories(walle-tuf PRIVATE ${PROJECT_SOURCE_DIR}/tests/conformance/tuf)
  target_link_libraries(walle-tuf PRIVATE walle_link walle_store walle_tensor walle_base walle_flags)
endif()
