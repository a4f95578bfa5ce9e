# libsodium (docs/adr/): digests, Ed25519 and the cipher of sealed files, on every target alike.
# Its files are compiled here, those alone that we reach: 49 KB, where Debian's archive makes 224,
# as its sodium_init() brings password hashing and key exchange along. Without the source that archive
# (libsodium-dev) does.
find_package(Python3 COMPONENTS Interpreter REQUIRED)
if(NOT WALLE_LIBSODIUM_DIR) # -DWALLE_LIBSODIUM_DIR=...: an unpacked and checked source
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/fetch_libsodium.py
    OUTPUT_VARIABLE sodium_source OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_VARIABLE sodium_why RESULT_VARIABLE sodium_status)
  string(STRIP "${sodium_why}" sodium_why)
  if(NOT sodium_status EQUAL 0)
    find_library(WALLE_LIBSODIUM_ARCHIVE libsodium.a)
    find_path(WALLE_LIBSODIUM_INCLUDE sodium.h)
    if(NOT WALLE_LIBSODIUM_ARCHIVE OR NOT WALLE_LIBSODIUM_INCLUDE)
      message(FATAL_ERROR "libsodium is missing: ${sodium_why}, or install its static library for this "
        "target (Debian: libsodium-dev)")
    endif()
    message(WARNING "libsodium: the system's archive, which makes libwalle 0.2 MB larger; ${sodium_why}.")
    add_library(walle_sodium INTERFACE)
    target_include_directories(walle_sodium SYSTEM INTERFACE ${WALLE_LIBSODIUM_INCLUDE})
    target_compile_definitions(walle_sodium INTERFACE SODIUM_STATIC)
    target_link_libraries(walle_sodium INTERFACE ${WALLE_LIBSODIUM_ARCHIVE} Threads::Threads)
    set(required "")
    if(SKBUILD) # what is linked in comes with its licence, or there is no wheel
      set(required REQUIRED)
    endif()
    find_file(sodium_licence NAMES copyright LICENSE PATHS /usr/share/doc/libsodium-dev
      /usr/share/licenses/libsodium /usr/share/doc/libsodium ${required})
    if(sodium_licence)
      install(FILES ${sodium_licence} DESTINATION ${walle_docdir} RENAME LICENSE.libsodium COMPONENT capi)
    endif()
    return()
  endif()
  # Not in the cache: the folder is looked for again when somebody has emptied ~/.cache.
  set(WALLE_LIBSODIUM_DIR ${sodium_source})
endif()

set(sodium_src ${WALLE_LIBSODIUM_DIR}/src/libsodium)
set(sodium_files
  crypto_aead/xchacha20poly1305/sodium/aead_xchacha20poly1305 crypto_core/ed25519/ref10/ed25519_ref10
  crypto_core/hchacha20/core_hchacha20 crypto_hash/sha256/cp/hash_sha256_cp crypto_hash/sha256/hash_sha256
  crypto_hash/sha512/cp/hash_sha512_cp crypto_hash/sha512/hash_sha512
  crypto_onetimeauth/poly1305/donna/poly1305_donna crypto_onetimeauth/poly1305/onetimeauth_poly1305
  crypto_onetimeauth/poly1305/sse2/poly1305_sse2 crypto_sign/ed25519/ref10/open
  crypto_sign/ed25519/ref10/sign crypto_stream/chacha20/dolbeau/chacha20_dolbeau-avx2
  crypto_stream/chacha20/dolbeau/chacha20_dolbeau-ssse3 crypto_stream/chacha20/ref/chacha20_ref
  crypto_stream/chacha20/stream_chacha20 crypto_verify/sodium/verify randombytes/randombytes
  randombytes/sysrandom/randombytes_sysrandom sodium/core sodium/runtime sodium/utils)
list(TRANSFORM sodium_files REPLACE "(.+)" "${sodium_src}/\\1.c")
function(walle_sodium_version)
  set(VERSION 1.0.18)
  set(SODIUM_LIBRARY_VERSION_MAJOR 10)
  set(SODIUM_LIBRARY_VERSION_MINOR 3)
  set(SODIUM_LIBRARY_MINIMAL_DEF "")
  # It includes what lies beside its source.
  file(READ ${sodium_src}/include/sodium/version.h.in text)
  string(REPLACE "\"export.h\"" "\"sodium/export.h\"" text "${text}")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/sodium/sodium/version.h CONTENT "${text}" @ONLY)
endfunction()
walle_sodium_version()

add_library(walle_sodium STATIC ${sodium_files} ${PROJECT_SOURCE_DIR}/src/cpp/base/sodium_absent.c)
set_target_properties(walle_sodium PROPERTIES C_EXTENSIONS ON C_VISIBILITY_PRESET hidden)
target_include_directories(walle_sodium SYSTEM PUBLIC ${sodium_src}/include ${CMAKE_BINARY_DIR}/sodium
  PRIVATE ${sodium_src}/include/sodium ${CMAKE_BINARY_DIR}/sodium/sodium)
target_link_libraries(walle_sodium PUBLIC Threads::Threads)
# -O2 is 4 KB more for 2 to 7 % (SHA-256 323 and 347 MB/s, sealing 1 MB 0.69 and 0.68 ms).
target_compile_options(walle_sodium PRIVATE -w -Os -ffunction-sections -fdata-sections)
target_compile_definitions(walle_sodium PUBLIC SODIUM_STATIC)
# What its configure script would find out. No function of libc that a target may lack: the kernel is asked
# for random bytes by its number, and no memory is locked or guarded, as keys lie in our own objects.
target_compile_definitions(walle_sodium PRIVATE CONFIGURED=1 NDEBUG HAVE_C_VARARRAYS=1 HAVE_PTHREAD=1
  HAVE_INLINE_ASM=1 $<$<NOT:$<BOOL:${APPLE}>>:HAVE_WEAK_SYMBOLS=1> $<$<BOOL:${APPLE}>:HAVE_SAFE_ARC4RANDOM=1>)
if(CMAKE_C_BYTE_ORDER STREQUAL "LITTLE_ENDIAN")
  target_compile_definitions(walle_sodium PRIVATE NATIVE_LITTLE_ENDIAN=1)
endif()
if(CMAKE_SIZEOF_VOID_P EQUAL 8)
  target_compile_definitions(walle_sodium PRIVATE HAVE_TI_MODE=1)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  target_compile_definitions(walle_sodium PRIVATE HAVE_CPUID=1 HAVE_AVX_ASM=1 HAVE_EMMINTRIN_H=1
    HAVE_PMMINTRIN_H=1 HAVE_TMMINTRIN_H=1 HAVE_SMMINTRIN_H=1 HAVE_AVXINTRIN_H=1 HAVE_AVX2INTRIN_H=1)
  # clang does not read the pragmas by which these files ask g++ for their instructions; they run where the
  # processor has them.
  foreach(form IN ITEMS dolbeau/chacha20_dolbeau-avx2:-mavx2 dolbeau/chacha20_dolbeau-ssse3:-mssse3)
    string(REPLACE ":" ";" form ${form})
    list(GET form 0 file)
    list(GET form 1 flag)
    set_source_files_properties(${sodium_src}/crypto_stream/chacha20/${file}.c PROPERTIES
      COMPILE_OPTIONS ${flag})
  endforeach()
endif()
install(FILES ${WALLE_LIBSODIUM_DIR}/LICENSE DESTINATION ${walle_docdir} RENAME LICENSE.libsodium
  COMPONENT capi)
