# libwalle: the C library. It exports the functions of walle.h, vm.h and device.h and nothing else (a version
# script; tools/check_symbols.py looks), and installs so that find_package(walle CONFIG) and pkg-config find
# it.
include(CMakePackageConfigHelpers)
include(CheckLinkerFlag)

file(GLOB capi_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cpp/capi/*.cc)
set(capi_headers walle.h walle.hpp)
if(WALLE_PARTS STREQUAL "engine")
  list(FILTER capi_sources EXCLUDE REGEX "/(device|vm)[a-z_]*\\.cc$")
else()
  list(APPEND capi_headers vm.h device.h)
endif()
add_library(walle SHARED ${capi_sources})
add_library(walle::walle ALIAS walle)
walle_link_rooms(walle)
target_link_libraries(walle PRIVATE walle_flags)
target_compile_options(walle PRIVATE $<$<CONFIG:Release>:-Os>)
target_compile_definitions(walle PRIVATE WALLE_VERSION_TEXT="${PROJECT_VERSION}")
target_include_directories(walle INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src/cpp/include>
  $<INSTALL_INTERFACE:${walle_includedir}>)
if(NOT SKBUILD)
  # A wheel is a zip archive and keeps no symbolic links: there libwalle.so is both file and SONAME, so that
  # -lwalle works.
  set_target_properties(walle PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
endif()
set(exports ${PROJECT_SOURCE_DIR}/src/cpp/capi/exports.map)
if(NOT APPLE AND NOT WIN32)
  target_link_options(walle PRIVATE -Wl,--gc-sections -Wl,-Bsymbolic)
  # The map says which room each byte comes from: tools/size_report.py.
  check_linker_flag(CXX -Wl,-Map=/dev/null WALLE_HAS_LINKER_MAP) # zig's has none
  if(WALLE_HAS_LINKER_MAP)
    target_link_options(walle PRIVATE -Wl,-Map=${CMAKE_CURRENT_BINARY_DIR}/libwalle.map)
  endif()
endif()
if(WALLE_ONE_ENGINE)
  # What the Python extension calls, under a version node that is nobody else's: read from its objects, so
  # that the linker drops all that neither C nor Python reaches. With the public names in one script: of two
  # zig's linker reads the last.
  set(both ${CMAKE_CURRENT_BINARY_DIR}/libwalle_exports.map)
  add_custom_command(OUTPUT ${both}
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/private_symbols.py ${both} ${exports}
      ${CMAKE_NM} $<TARGET_OBJECTS:walle_pybind>
    DEPENDS ${PROJECT_SOURCE_DIR}/tools/private_symbols.py ${exports} walle_pybind
      $<TARGET_OBJECTS:walle_pybind>
    COMMAND_EXPAND_LISTS VERBATIM)
  target_sources(walle PRIVATE ${both})
  set(exports ${both})
endif()
if(NOT APPLE AND NOT WIN32)
  target_link_options(walle PRIVATE -Wl,--version-script=${exports})
  set_target_properties(walle PROPERTIES LINK_DEPENDS ${exports})
endif()

install(TARGETS walle EXPORT walle_targets LIBRARY DESTINATION ${walle_libdir} COMPONENT capi)
foreach(header IN LISTS capi_headers)
  install(FILES ${PROJECT_SOURCE_DIR}/src/cpp/include/walle/${header} DESTINATION ${walle_includedir}/walle
    COMPONENT capi)
endforeach()
set(package ${walle_libdir}/cmake/walle)
install(EXPORT walle_targets NAMESPACE walle:: DESTINATION ${package} COMPONENT capi)
set(config ${CMAKE_CURRENT_BINARY_DIR}/walle-config)
file(WRITE ${config}.cmake "include(\"\${CMAKE_CURRENT_LIST_DIR}/walle_targets.cmake\")\n")
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${config}-version.cmake VERSION ${PROJECT_VERSION}
  COMPATIBILITY SameMinorVersion)
install(FILES ${config}.cmake ${config}-version.cmake DESTINATION ${package} COMPONENT capi)
# Paths from the file's own place: a package that was moved is found there.
file(RELATIVE_PATH walle_up /${walle_libdir}/pkgconfig /)
string(REGEX REPLACE "/$" "" walle_up "${walle_up}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/walle.pc.in ${CMAKE_CURRENT_BINARY_DIR}/walle.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/walle.pc DESTINATION ${walle_libdir}/pkgconfig COMPONENT capi)
# The build folder is a package, too: walle_rt.cmake_dir() of a checkout names it.
export(EXPORT walle_targets NAMESPACE walle:: FILE ${CMAKE_CURRENT_BINARY_DIR}/walle_targets.cmake)
