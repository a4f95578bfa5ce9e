# macOS on 64-bit Arm: compiles and links, which shows missing symbols and unknown headers; nothing runs here.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)
set(CMAKE_OSX_DEPLOYMENT_TARGET "")
set(CMAKE_OSX_SYSROOT "")
set(WALLE_ZIG_TARGET aarch64-macos.12.0)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
