# 64-bit x86 Linux from glibc 2.28 on (manylinux_2_28), with this machine's own zlib and JSON headers.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(WALLE_ZIG_TARGET x86_64-linux-gnu.2.28)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
set(CMAKE_LIBRARY_ARCHITECTURE x86_64-linux-gnu)
# zig's baseline says that vectors of 512 bits are none, whatever -mavx512f asks for in a file.
set(CMAKE_C_FLAGS_INIT -mevex512)
set(CMAKE_CXX_FLAGS_INIT -mevex512)
