# build/<preset>/python/walle_rt: the sources' files by links, and beside them this build's extension and VM
# libraries. In src/python the VM libraries of two targets would have one name.
set(package ${PROJECT_SOURCE_DIR}/src/python/walle_rt)
set(cross_package ${CMAKE_CURRENT_BINARY_DIR}/python/walle_rt)
# By their kinds: what a run compiles beside them must not configure anew.
set(kinds py pyi typed html css mako)
list(TRANSFORM kinds PREPEND ${package}/*.)
file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${package} ${kinds})
# Anew: a file that was taken away would still be imported.
file(REMOVE_RECURSE ${cross_package})
foreach(file IN LISTS files)
  get_filename_component(folder ${cross_package}/${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(CREATE_LINK ${package}/${file} ${cross_package}/${file} SYMBOLIC)
endforeach()
set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${cross_package})
if(TARGET vm_full)
  foreach(flavour IN ITEMS full device)
    file(CREATE_LINK ${CMAKE_CURRENT_BINARY_DIR}/libwalle_vm_${flavour}.so
      ${cross_package}/vm/libwalle_vm_${flavour}.so SYMBOLIC)
  endforeach()
endif()
