# One place for language level, warnings, sanitizers and ccache.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(WALLE_CCACHE ccache)
if(WALLE_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${WALLE_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${WALLE_CCACHE})
endif()

find_package(Threads REQUIRED)

# -Wrestrict: g++ 12 reports overlaps inside std::string concatenation that cannot happen (GCC bug 105651).
add_library(walle_flags INTERFACE)
target_compile_options(walle_flags INTERFACE -Wall -Wextra $<$<CONFIG:Debug>:-Werror>
  $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local> $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# g++ 12 counts designated initialisers, whose purpose is to leave the other fields at their defaults, as
# missing ones.
target_compile_options(walle_flags INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-missing-field-initializers>)
target_include_directories(walle_flags INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/src/cpp
  ${CMAKE_CURRENT_SOURCE_DIR}/src/cpp/include)
target_link_libraries(walle_flags INTERFACE Threads::Threads)
if(WALLE_SANITIZE)
  target_compile_options(walle_flags INTERFACE -fsanitize=${WALLE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(walle_flags INTERFACE -fsanitize=${WALLE_SANITIZE})
endif()
