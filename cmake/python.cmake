# walle_rt._core: the one extension module. In a wheel build it is installed; in a source tree it is placed
# into src/python/walle_rt so that the checkout itself is importable.
find_package(Python COMPONENTS Interpreter Development.Module REQUIRED)
if(NOT pybind11_DIR)
  execute_process(COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir
    OUTPUT_VARIABLE pybind11_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
find_package(pybind11 3.0 CONFIG REQUIRED)

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cpp/pybind/*.cc)
# NO_EXTRAS: without link-time optimisation, which would see the bindings alone (the rooms are not compiled
# for it) and made every link longer than the compilation before it.
pybind11_add_module(_core MODULE NO_EXTRAS ${sources})
walle_link_rooms(_core)
target_link_libraries(_core PRIVATE walle_flags)
if(NOT APPLE AND NOT WIN32)
  # Other extension modules share the process: ours shows its init function alone.
  target_link_options(_core PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/src/cpp/pybind/exports.map)
endif()
if(SKBUILD)
  install(TARGETS _core DESTINATION walle_rt)
else()
  set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_SOURCE_DIR}/src/python/walle_rt)
endif()

# What the demo and the examples need: the extension, and the VM's libraries where they are built.
add_custom_target(engine)
add_dependencies(engine _core)
if(TARGET vm_full)
  add_dependencies(engine vm_full vm_device)
endif()
