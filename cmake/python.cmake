# walle_rt._core: the one extension module. In a wheel build it is installed; in a source tree it is placed
# into src/python/walle_rt so that the checkout itself is importable; of a cross build into a package of its
# own (cmake/cross_package.cmake).
if(NOT pybind11_DIR)
  execute_process(COMMAND ${Python3_EXECUTABLE} -m pybind11 --cmakedir
    OUTPUT_VARIABLE pybind11_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
find_package(pybind11 3.0 CONFIG REQUIRED)

# Small: bindings convert and document, and what they cost is Python's calls.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cpp/pybind/*.cc)
add_library(walle_pybind OBJECT ${sources})
target_link_libraries(walle_pybind PRIVATE walle_flags pybind11::module ${WALLE_ROOMS})
# Types that hold Python objects are seen in the extension alone, whatever their visibility.
target_compile_options(walle_pybind PRIVATE $<$<CONFIG:Release>:-Os>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-attributes>)
# The other end of what a device reads and writes: whoever compiles tasks or serves devices. In libwalle
# nobody would call it.
if(WALLE_ONE_ENGINE)
  foreach(end IN ITEMS container/task/manifest_pack link/package/package_writer link/policy/plan_writer
      link/tunnel/answer_writer link/tunnel/message_reader)
    target_sources(walle_pybind PRIVATE ${PROJECT_SOURCE_DIR}/src/cpp/${end}.cc)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/src/cpp/${end}.cc PROPERTIES
      SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endif()
# One unit per family: files of one name the same types and words.
walle_batches(walle_pybind)
set_target_properties(walle_pybind PROPERTIES UNITY_BUILD_MODE GROUP)
foreach(source IN LISTS sources)
  get_filename_component(family ${source} NAME_WE)
  string(REGEX MATCH "^(device|tunnel|task|stream_[a-i]|stream|session_encoder|vm)" family ${family})
  string(REGEX REPLACE "^(tunnel|task)$" "device" family "${family}")
  string(REGEX REPLACE "^stream_[a-i]$" "stream_first" family "${family}")
  string(REGEX REPLACE "^session_encoder$" "stream" family "${family}")
  if(NOT family)
    set(family engine)
  endif()
  set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${family})
endforeach()

# But for what every call of an isolate goes through: at -Os that is spread over six functions more, and a
# warm call takes 6 % longer. No PLT, as most of what it calls is Python's or libwalle's.
foreach(hot IN ITEMS python_lock vm_call)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/cpp/pybind/${hot}.cc PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3;-fno-plt>")
endforeach()

# Without link-time optimisation, which would see the bindings alone (the rooms are not compiled for it) and
# made every link longer than the compilation before it.
add_library(_core MODULE $<TARGET_OBJECTS:walle_pybind>)
set_target_properties(_core PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(_core PRIVATE walle_flags pybind11::module)
pybind11_extension(_core)
if(WALLE_ONE_ENGINE)
  # One engine for both: the extension finds it in libwalle beside it.
  target_link_libraries(_core PRIVATE walle)
  set_target_properties(_core PROPERTIES INSTALL_RPATH "$ORIGIN/lib" LINK_DEPENDS_NO_SHARED ON)
else()
  walle_link_rooms(_core)
endif()
if(NOT APPLE AND NOT WIN32)
  # Other extension modules share the process: ours shows its init function alone.
  target_link_options(_core PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/src/cpp/pybind/exports.map
    -Wl,-Bsymbolic -Wl,--gc-sections)
endif()
if(SKBUILD)
  install(TARGETS _core DESTINATION walle_rt)
elseif(CMAKE_CROSSCOMPILING)
  include(cross_package)
else()
  set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_SOURCE_DIR}/src/python/walle_rt)
endif()

# What the demo and the examples need: the extension, and the VM's libraries where they are built.
add_custom_target(engine)
add_dependencies(engine _core)
if(TARGET vm_full)
  add_dependencies(engine vm_full vm_device)
endif()
