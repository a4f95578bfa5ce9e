# libwalle: the C library. It exports the functions of walle.h and vm.h and nothing else (a version script; tools/check_symbols.py
# looks), and installs so that find_package(walle CONFIG) finds it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

file(GLOB capi_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cpp/capi/*.cc)
add_library(walle SHARED ${capi_sources})
add_library(walle::walle ALIAS walle)
walle_link_rooms(walle)
target_link_libraries(walle PRIVATE walle_flags)
target_compile_definitions(walle PRIVATE WALLE_VERSION_TEXT="${PROJECT_VERSION}")
target_include_directories(walle INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src/cpp/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(walle PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
if(NOT APPLE AND NOT WIN32)
  target_link_options(walle PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/src/cpp/capi/exports.map -Wl,--gc-sections)
  set_target_properties(walle PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/src/cpp/capi/exports.map)
endif()

install(TARGETS walle EXPORT walle_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT capi)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/cpp/include/walle DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT capi)
install(EXPORT walle_targets NAMESPACE walle:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/walle COMPONENT capi)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/walle-config.cmake "include(\"\${CMAKE_CURRENT_LIST_DIR}/walle_targets.cmake\")\n")
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/walle-config-version.cmake VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/walle-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/walle-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/walle COMPONENT capi)
