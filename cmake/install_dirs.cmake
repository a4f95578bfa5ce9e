# Where files are installed: below a prefix, as systems have it, or in a wheel below walle_rt/.
include(GNUInstallDirs)
if(SKBUILD)
  set(walle_libdir walle_rt/lib)
  set(walle_includedir walle_rt/include)
  set(walle_vmdir walle_rt/vm)
  set(walle_docdir walle_rt/lib) # a wheel has our own licence beside its metadata
else()
  set(walle_libdir ${CMAKE_INSTALL_LIBDIR})
  set(walle_includedir ${CMAKE_INSTALL_INCLUDEDIR})
  set(walle_vmdir ${CMAKE_INSTALL_LIBDIR}/walle)
  set(walle_docdir ${CMAKE_INSTALL_DOCDIR})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${walle_docdir} COMPONENT capi)
endif()
