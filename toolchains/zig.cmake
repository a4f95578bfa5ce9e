# The compiler of the PyPI package `ziglang` for another target: included by zig-*.cmake, which set
# WALLE_ZIG_TARGET. It brings the target's C library and headers, so that one machine builds for a glibc older
# than its own, and for macOS.
find_program(WALLE_ZIG_PYTHON python PATHS ${CMAKE_CURRENT_LIST_DIR}/../.venv/bin REQUIRED NO_DEFAULT_PATH)
execute_process(COMMAND ${WALLE_ZIG_PYTHON} -c
  "import ziglang, pathlib; print(pathlib.Path(ziglang.__file__).parent / 'zig')"
  OUTPUT_VARIABLE walle_zig OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)

# Without -fno-sanitize zig adds UndefinedBehaviorSanitizer to builds that it takes for debug builds.
set(walle_zig_flags -target ${WALLE_ZIG_TARGET} -fno-sanitize=undefined)
set(CMAKE_C_COMPILER ${walle_zig} cc ${walle_zig_flags})
set(CMAKE_CXX_COMPILER ${walle_zig} c++ ${walle_zig_flags})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# zig keeps what it has compiled, by content; ccache does not understand `zig cc`.
set(WALLE_CCACHE OFF CACHE FILEPATH "ccache: no use with zig")
