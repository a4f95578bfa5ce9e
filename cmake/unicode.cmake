# Upper and lower case of all letters, written at build time from the Unicode data of Python and never
# committed.
find_package(Python3 COMPONENTS Interpreter REQUIRED)
set(unicode_case ${WALLE_GENERATED_DIR}/unicode/unicode_case.inc)
add_custom_command(OUTPUT ${unicode_case}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${WALLE_GENERATED_DIR}/unicode
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/unicode_case.py ${unicode_case}
  DEPENDS ${PROJECT_SOURCE_DIR}/tools/unicode_case.py VERBATIM)
add_custom_target(unicode_case DEPENDS ${unicode_case})
add_dependencies(walle_ops unicode_case)
target_include_directories(walle_ops PRIVATE ${WALLE_GENERATED_DIR})
