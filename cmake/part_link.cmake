# What connects a device with its server (docs/concepts/trust.md). Until something in libwalle or _core calls
# it, it is built for tests and for the tool walle-tuf alone; a wheel needs no JSON headers so.
if(NOT WALLE_BUILD_TESTS)
  return()
endif()
# The headers suit every target, so a cross build takes the host's, through a folder that holds them alone.
find_path(WALLE_JSON_INCLUDE nlohmann/json.hpp NO_CMAKE_FIND_ROOT_PATH)
if(NOT WALLE_JSON_INCLUDE)
  message(FATAL_ERROR "nlohmann/json.hpp is missing. Install it (Debian: nlohmann-json3-dev; "
    "tools/setup.sh does), or set WALLE_JSON_INCLUDE to the folder above nlohmann/.")
endif()
walle_room(link SMALL APART USES store base SCHEMAS package)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/json_headers)
file(CREATE_LINK ${WALLE_JSON_INCLUDE}/nlohmann ${CMAKE_BINARY_DIR}/json_headers/nlohmann SYMBOLIC)
target_include_directories(walle_link SYSTEM PRIVATE ${CMAKE_BINARY_DIR}/json_headers)

# The three commands of the public tuf-conformance suite.
file(GLOB walle_tuf_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/conformance/tuf/*.cc)
add_executable(walle-tuf ${walle_tuf_sources})
target_include_directories(walle-tuf PRIVATE ${PROJECT_SOURCE_DIR}/tests/conformance/tuf)
target_link_libraries(walle-tuf PRIVATE walle_link walle_store walle_base walle_flags)
