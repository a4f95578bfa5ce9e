# The Python VM (docs/concepts/vm.md): CPython's files compiled directly into one private library per flavour.
#
#   walle_vm         the C++ room: loads the library at run time; always built
#   vm_core          CPython without compiler, files, signals ...; edited copy in the build folder
#   vm_compiler      parser and compiler, full flavour only
#   vm_freeze        compiles the task library with the VM's own compiler
#   vm_full, vm_device   libwalle_vm_full.so, libwalle_vm_device.so
option(WALLE_VM "Build the Python VM libraries (needs the CPython source, see tools/vm/fetch_cpython.py)" ON)

walle_room(vm USES tensor)
target_link_libraries(walle_vm PUBLIC ${CMAKE_DL_LIBS})
# Every call of a task goes through it: a warm one takes 123 ns so and 131 at -O2, for 20 KB.
target_compile_options(walle_vm PRIVATE $<$<CONFIG:Release>:-O3>)

if(NOT WALLE_VM)
  message(STATUS "Python VM: off (WALLE_VM=OFF)")
  return()
endif()
if(NOT WALLE_BUILD_PYTHON AND NOT CMAKE_CROSSCOMPILING AND NOT WALLE_SANITIZE AND NOT WALLE_BUILD_FUZZ)
  message(STATUS "Python VM: not built here (WALLE_BUILD_PYTHON=OFF: tests use the release build's)")
  return()
endif()

find_package(Python3 COMPONENTS Interpreter REQUIRED)
set(vm_tools ${PROJECT_SOURCE_DIR}/tools/vm)
if(NOT WALLE_CPYTHON_DIR) # -DWALLE_CPYTHON_DIR=...: an unpacked and checked source
  execute_process(COMMAND ${Python3_EXECUTABLE} ${vm_tools}/fetch_cpython.py
    OUTPUT_VARIABLE vm_source OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_VARIABLE vm_why RESULT_VARIABLE vm_status)
  if(NOT vm_status EQUAL 0)
    string(STRIP "${vm_why}" vm_why)
    message(WARNING "Python VM: off, ${vm_why}. "
      "Everything else is built; tasks cannot run and their tests are skipped.")
    return()
  endif()
  # Not in the cache: the folder is looked for again when somebody has emptied ~/.cache.
  set(WALLE_CPYTHON_DIR ${vm_source})
endif()

set(vm_src ${PROJECT_SOURCE_DIR}/src/cpp/vm)
set(vm_py ${CMAKE_CURRENT_BINARY_DIR}/vm/cpython)
# Edited while configuring and not by a build step: the list of files below needs them, and they hardly ever
# change.
execute_process(COMMAND ${Python3_EXECUTABLE} ${vm_tools}/edit_cpython.py ${WALLE_CPYTHON_DIR} ${vm_py}
  COMMAND_ERROR_IS_FATAL ANY)
file(GLOB vm_edits CONFIGURE_DEPENDS ${vm_tools}/edits/*.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${vm_tools}/edit_cpython.py ${vm_edits})

# What tasks spend their time in is compiled for speed, the rest for size (levels: WALLE_VM_LOOP, _NUMBERS,
# _HOT and _COLD below).
set(vm_hot
  Python/frame Python/gc Objects/abstract Objects/boolobject Objects/call Objects/cellobject
  Objects/classobject Objects/descrobject Objects/dictobject Objects/enumobject Objects/funcobject
  Objects/genobject Objects/iterobject Objects/methodobject Objects/object Objects/obmalloc
  Objects/rangeobject Objects/setobject Objects/sliceobject Objects/tupleobject Objects/typeobject
  Objects/unicodeobject Modules/_json Modules/itertoolsmodule Modules/_collectionsmodule
  Modules/_functoolsmodule)
set(vm_cold
  Python/_warnings Python/bltinmodule Python/bootstrap_hash Python/ceval_gil Python/codecs Python/context
  Python/critical_section Python/crossinterp Python/dtoa Python/errors Python/fileutils
  Python/formatter_unicode Python/gc_gil Python/getargs Python/getcompiler Python/getcopyright
  Python/getplatform Python/getversion Python/hamt Python/hashtable Python/import Python/importdl
  Python/initconfig Python/instrumentation Python/interpconfig Python/intrinsics Python/legacy_tracing
  Python/lock Python/marshal Python/modsupport Python/mysnprintf Python/mystrtoul Python/object_stack
  Python/parking_lot Python/pathconfig Python/preconfig Python/pyarena Python/pyctype Python/pyhash
  Python/pylifecycle Python/pymath Python/pystate Python/pystrcmp Python/pystrhex Python/pystrtod
  Python/pythonrun Python/pytime Python/qsbr Python/specialize Python/structmember Python/suggestions
  Python/sysmodule Python/thread Python/traceback Objects/bytearrayobject Objects/bytes_methods
  Objects/bytesobject Objects/capsule Objects/codeobject Objects/complexobject Objects/exceptions
  Objects/fileobject Objects/frameobject Objects/genericaliasobject Objects/memoryobject
  Objects/moduleobject Objects/namespaceobject Objects/odictobject Objects/picklebufobject Objects/structseq
  Objects/typevarobject Objects/unicodectype Objects/unionobject Objects/weakrefobject Modules/_abc
  Modules/_bisectmodule Modules/_codecsmodule Modules/_contextvarsmodule Modules/_csv Modules/_datetimemodule
  Modules/_heapqmodule Modules/_operator Modules/_randommodule Modules/_stat Modules/_statisticsmodule
  Modules/_struct Modules/_threadmodule Modules/_typingmodule Modules/_weakref Modules/arraymodule
  Modules/atexitmodule Modules/binascii Modules/cmathmodule Modules/gcmodule Modules/mathmodule
  Modules/md5module Modules/sha1module Modules/sha2module Modules/timemodule Modules/_sre/sre
  Modules/_hacl/Hacl_Hash_MD5 Modules/_hacl/Hacl_Hash_SHA1 Modules/_hacl/Hacl_Hash_SHA2)
set(vm_compiler
  Parser/action_helpers Parser/lexer/buffer Parser/lexer/lexer Parser/lexer/state Parser/parser
  Parser/peg_api Parser/pegen Parser/pegen_errors Parser/string_parser Parser/token
  Parser/tokenizer/file_tokenizer Parser/tokenizer/helpers Parser/tokenizer/readline_tokenizer
  Parser/tokenizer/string_tokenizer Parser/tokenizer/utf8_tokenizer Python/Python-ast Python/asdl
  Python/assemble Python/ast Python/ast_opt Python/ast_unparse Python/compile Python/flowgraph Python/future
  Python/instruction_sequence Python/symtable)
# Every call goes through these.
set(vm_inside_hot run/arena run/interrupt run/memory values/values boot/functions boot/host_calls
  boot/isolate)
set(vm_inside ${vm_inside_hot} run/failure run/host
  values/tensor values/tensor_index values/tensor_make values/tensor_methods values/tensor_operators
  values/tensor_text
  code/code_body code/code_copy code/code_kinds code/code_reader code/code_verify code/code_writer
  code/container code/inflate code/line_table
  boot/absent_system boot/boot boot/entry boot/importer boot/inittab)

add_library(vm_flags INTERFACE)
target_include_directories(vm_flags BEFORE INTERFACE ${vm_src}/cpython ${vm_py}/Include/internal
  ${vm_py}/Include ${vm_py}/Python ${vm_py}/Modules/_hacl/include ${PROJECT_SOURCE_DIR}/src/cpp)
target_compile_options(vm_flags INTERFACE -include ${vm_src}/inside/hidden.h -fwrapv -fvisibility=hidden
  -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fno-semantic-interposition -g0)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  # The interpreter reads its thread state all the time; one word of the static TLS block makes that a single
  # load.
  target_compile_options(vm_flags INTERFACE -ftls-model=initial-exec)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  # g++ for Arm writes unwind tables unless told so twice: 0.3 MB.
  target_compile_options(vm_flags INTERFACE -fno-unwind-tables)
endif()
target_compile_definitions(vm_flags INTERFACE NDEBUG PLATFORM="walle" ABIFLAGS="" MULTIARCH=""
  _DEFAULT_SOURCE)
if(WALLE_BUILD_FUZZ)
  # CPython itself is watched for bad accesses; the fuzzer is led by our own files alone.
  target_compile_options(vm_flags INTERFACE -fsanitize=address)
  target_compile_definitions(vm_flags INTERFACE WALLE_VM_PLAIN_MALLOC)
  target_link_options(vm_flags INTERFACE -fsanitize=address)
elseif(WALLE_SANITIZE)
  if(WALLE_SANITIZE MATCHES "address")
    target_compile_definitions(vm_flags INTERFACE WALLE_VM_PLAIN_MALLOC)
  endif()
  target_compile_options(vm_flags INTERFACE -fsanitize=${WALLE_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(vm_flags INTERFACE -fsanitize=${WALLE_SANITIZE})
endif()

# walle_vm_objects(<target> <optimisation> <file>...): CPython files, relative to its root, without suffix.
function(walle_vm_objects target optimise)
  set(files ${ARGN})
  list(TRANSFORM files REPLACE "(.+)" "${vm_py}/\\1.c")
  add_library(${target} OBJECT ${files})
  target_link_libraries(${target} PRIVATE vm_flags)
  target_compile_options(${target} PRIVATE ${optimise} -w)
  set_target_properties(${target} PROPERTIES C_STANDARD 11 C_EXTENSIONS ON)
  foreach(file IN LISTS files)
    set(define Py_BUILD_CORE)
    if(file MATCHES "/Modules/" AND NOT file MATCHES "/gcmodule")
      set(define Py_BUILD_CORE_BUILTIN)
    endif()
    if(file MATCHES "/pylifecycle")
      list(APPEND define WVM_REAL_STREAMS)
    endif()
    set_property(SOURCE ${file} APPEND PROPERTY COMPILE_DEFINITIONS ${define})
  endforeach()
endfunction()

set(WALLE_VM_LOOP -O2 CACHE STRING "Optimisation of the VM's interpreter loop")
set(WALLE_VM_FLOATS -O3 CACHE STRING "Optimisation of the VM's floats")
set(vm_numbers -O2)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  set(vm_numbers -O2 -fpeel-loops -fsplit-paths)
endif()
set(WALLE_VM_NUMBERS "${vm_numbers}" CACHE STRING
  "Optimisation of the VM's integers and lists, device flavour")
set(WALLE_VM_NUMBERS_FULL -O3 CACHE STRING "Optimisation of the VM's integers and lists, full flavour")
set(WALLE_VM_HOT -O2 CACHE STRING "Optimisation of the VM's files that tasks spend their time in")
set(WALLE_VM_COLD -Os CACHE STRING "Optimisation of the VM's other files")
# What is not hot is optimised as a whole: 30 KB less of each flavour (with ld alone, as lld does not read
# what g++ writes for it), for the longest links of a build, of which there
# are three: in wheels. The hot files stay as they were measured.
option(WALLE_VM_WHOLE "Optimise the VM's cold files as a whole when linking (g++ and GNU's linker)" OFF)
set(vm_whole "")
set(vm_gnu OFF)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT WALLE_VM_RELR AND NOT WALLE_SANITIZE AND NOT WALLE_BUILD_FUZZ)
  set(vm_gnu ON)
endif()
if(WALLE_VM_WHOLE AND vm_gnu)
  include(CheckIPOSupported)
  check_ipo_supported(RESULT vm_has_lto LANGUAGES C)
  if(vm_has_lto)
    set(vm_whole -flto -fno-fat-lto-objects)
  endif()
endif()
# Every instruction of the loop jumps to the next by itself; what g++ would share between them costs it
# registers there: programs of floats run 8 % faster without, and no better with -O3.
walle_vm_objects(vm_core_loop "${WALLE_VM_LOOP};$<$<C_COMPILER_ID:GNU>:-fno-gcse>" Python/ceval)
# -O3 makes programs of floats 10 % faster for 8 KB. Integers and lists gain 8 % from it for 29 KB: the full
# flavour has them, the device flavour keeps to its size (tools/size_report.py) with the two passes of -O3
# that the gain comes from (loops 6.1 -> 5.7 ms, 0.4 KB deflated).
walle_vm_objects(vm_core_floats ${WALLE_VM_FLOATS} Objects/floatobject)
walle_vm_objects(vm_core_numbers "${WALLE_VM_NUMBERS}" Objects/listobject Objects/longobject)
walle_vm_objects(vm_core_numbers_full ${WALLE_VM_NUMBERS_FULL} Objects/listobject Objects/longobject)
walle_vm_objects(vm_core_hot ${WALLE_VM_HOT} ${vm_hot})
walle_vm_objects(vm_core_cold "${WALLE_VM_COLD};${vm_whole}" ${vm_cold})
walle_vm_objects(vm_compiler "${WALLE_VM_COLD};${vm_whole}" ${vm_compiler})
set(vm_core $<TARGET_OBJECTS:vm_core_loop> $<TARGET_OBJECTS:vm_core_floats> $<TARGET_OBJECTS:vm_core_hot>
  $<TARGET_OBJECTS:vm_core_cold>)

# Not every linker knows these; the first saves a few KB, the second repeats what hidden.h does.
include(CheckLinkerFlag)
check_linker_flag(C -Wl,-z,noseparate-code WALLE_HAS_NOSEPARATE_CODE)
check_linker_flag(C -Wl,-exported_symbols_list,${vm_src}/inside/exports.txt WALLE_HAS_EXPORTED_SYMBOLS_LIST)
# On macOS CMake makes a bundle of a module: no advantage for dlopen, and zig links none.
set(vm_library_kind MODULE)
if(APPLE)
  set(vm_library_kind SHARED)
endif()

# Packed relative relocations: the pointers of static tables in 5 KB instead of 0.3 MB. Loaders know them from
# glibc 2.36 and Android 11 on; GNU's linker of Debian 12 writes them for x86-64 alone, hence LLVM's.
option(WALLE_VM_RELR
  "Pack the VM libraries' relative relocations (needs lld, and glibc 2.36 or Android 11 to run)" OFF)
if(WALLE_VM_RELR)
  find_program(WALLE_VM_LLD NAMES ld.lld-16 ld.lld REQUIRED)
  # The compiler looks for a linker by the one name ld.lld, which only the versioned package's own folder has.
  file(REAL_PATH ${WALLE_VM_LLD} vm_lld)
  file(CREATE_LINK ${vm_lld} ${CMAKE_CURRENT_BINARY_DIR}/vm/ld.lld SYMBOLIC)
endif()

# walle_vm_link(<target> <kind> <full: 0 or 1> <extra source>...): an executable or module out of the objects
# and our files.
function(walle_vm_link target kind full)
  set(files ${vm_inside})
  if(full)
    list(APPEND files code/container_writer)
  else()
    list(APPEND files boot/absent_compiler)
  endif()
  list(TRANSFORM files REPLACE "(.+)" "${vm_src}/inside/\\1.c")
  if(kind STREQUAL "EXECUTABLE")
    add_executable(${target} ${files} ${ARGN} ${vm_core})
  else()
    add_library(${target} ${vm_library_kind} ${files} ${ARGN} ${vm_core})
  endif()
  if(full)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:vm_compiler> $<TARGET_OBJECTS:vm_core_numbers_full>)
  else()
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:vm_core_numbers>)
  endif()
  target_compile_definitions(${target} PRIVATE WALLE_VM_FULL=${full})
  # Tables of CPython's kind leave fields unset, its function types parameters unused; its macros mix signs.
  target_compile_options(${target} PRIVATE ${WALLE_VM_COLD} ${vm_whole} -Wall -Wextra
    -Werror=implicit-function-declaration
    -Wno-missing-field-initializers -Wno-unused-parameter -Wno-sign-compare)
  set(vm_hot_flags ${WALLE_VM_HOT})
  if(vm_whole)
    list(APPEND vm_hot_flags -fno-lto)
  endif()
  foreach(file IN LISTS vm_inside_hot)
    # Stands after the target's level on the command line, so it is the one that counts.
    set_property(SOURCE ${vm_src}/inside/${file}.c PROPERTY COMPILE_OPTIONS "${vm_hot_flags}")
  endforeach()
  set_target_properties(${target} PROPERTIES C_STANDARD 11 C_EXTENSIONS ON)
  target_link_libraries(${target} PRIVATE vm_flags m Threads::Threads ${CMAKE_DL_LIBS})
  if(APPLE)
    target_link_options(${target} PRIVATE -Wl,-dead_strip)
  else()
    # -O2: texts that end alike are stored once.
    target_link_options(${target} PRIVATE -Wl,--gc-sections -Wl,-O2 -Wl,-z,now -Wl,--build-id=none
      $<$<BOOL:${WALLE_HAS_NOSEPARATE_CODE}>:-Wl,-z,noseparate-code>)
    if(vm_whole)
      # In one piece: 4 KB less than in eighteen.
      target_link_options(${target} PRIVATE -flto -flto-partition=one)
    endif()
    if(WALLE_VM_RELR AND kind STREQUAL "MODULE")
      target_link_options(${target} PRIVATE -B${CMAKE_CURRENT_BINARY_DIR}/vm -fuse-ld=lld
        -Wl,-z,pack-relative-relocs)
    endif()
  endif()
endfunction()

if(CMAKE_CROSSCOMPILING)
  # Bytecode does not depend on the target: the native build's container is reused.
  if(NOT EXISTS "${WALLE_VM_LIBRARY_C}")
    message(FATAL_ERROR "Cross build: WALLE_VM_LIBRARY_C='${WALLE_VM_LIBRARY_C}' is no file; "
      "expected: vm/library.c of a native build, which its target vm_device makes")
  endif()
  set(vm_library_c ${WALLE_VM_LIBRARY_C})
else()
  walle_vm_link(vm_freeze EXECUTABLE 1 ${PROJECT_SOURCE_DIR}/tools/vm/freeze.c)
  target_compile_definitions(vm_freeze PRIVATE WVM_REAL_STREAMS)
  set(vm_built ${CMAKE_CURRENT_BINARY_DIR}/vm)
  set(vm_library_c ${vm_built}/library.c)
  file(GLOB_RECURSE vm_lib_sources CONFIGURE_DEPENDS ${vm_src}/lib/*.py)
  add_custom_command(OUTPUT ${vm_library_c}
    COMMAND ${Python3_EXECUTABLE} ${vm_tools}/library.py
      ${WALLE_CPYTHON_DIR}/Lib ${vm_src}/lib ${vm_built}/lib
    # Its interpreter never ends, so all that it holds would count as leaks.
    COMMAND ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0
      $<TARGET_FILE:vm_freeze> ${vm_built}/lib/list.txt ${vm_built}/library.wvmb
    COMMAND ${Python3_EXECUTABLE} ${vm_tools}/pack.py ${vm_built}/library.wvmb ${vm_library_c}
    DEPENDS vm_freeze ${vm_lib_sources} ${vm_tools}/library.py ${vm_tools}/library_edits.py
      ${vm_tools}/edits/engine.py ${vm_tools}/pack.py
    COMMENT "Compiling the task library" VERBATIM)
endif()

if(WALLE_BUILD_FUZZ)
  walle_vm_link(bundle_fuzz EXECUTABLE 0 ${PROJECT_SOURCE_DIR}/tests/fuzz/bundle_fuzz.c ${vm_library_c})
  target_compile_definitions(bundle_fuzz PRIVATE WVM_REAL_STREAMS)
  target_compile_options(bundle_fuzz PRIVATE
    -fsanitize=fuzzer-no-link,undefined -fno-sanitize-recover=all -g1)
  target_link_options(bundle_fuzz PRIVATE -fsanitize=fuzzer,undefined)
  set_target_properties(bundle_fuzz PROPERTIES LINKER_LANGUAGE CXX)
  return()
endif()

foreach(flavour IN ITEMS full device)
  if(flavour STREQUAL "full")
    walle_vm_link(vm_${flavour} MODULE 1 ${vm_library_c})
  else()
    walle_vm_link(vm_${flavour} MODULE 0 ${vm_library_c})
  endif()
  set_target_properties(vm_${flavour} PROPERTIES PREFIX "lib" OUTPUT_NAME walle_vm_${flavour}
    LINK_DEPENDS "${vm_src}/inside/exports.map;${vm_src}/inside/warm.ld")
  if(APPLE)
    target_link_options(vm_${flavour} PRIVATE
      $<$<BOOL:${WALLE_HAS_EXPORTED_SYMBOLS_LIST}>:-Wl,-exported_symbols_list,${vm_src}/inside/exports.txt>)
  else()
    # Reports and suppressions of sanitizers name functions.
    target_link_options(vm_${flavour} PRIVATE $<$<NOT:$<BOOL:${WALLE_SANITIZE}>>:-s>
      -Wl,--version-script=${vm_src}/inside/exports.map -Wl,-z,defs)
    if(vm_gnu)
      # Here and not everywhere: GNU's ld, which the condition stands for, adds the script to its own.
      target_link_options(vm_${flavour} PRIVATE -Wl,-T,${vm_src}/inside/warm.ld)
    endif()
  endif()
  if(NOT SKBUILD AND NOT CMAKE_CROSSCOMPILING AND NOT WALLE_SANITIZE)
    set_target_properties(vm_${flavour} PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_SOURCE_DIR}/src/python/walle_rt/vm)
  endif()
endforeach()
install(TARGETS vm_full vm_device DESTINATION ${walle_vmdir} COMPONENT vm)
install(FILES ${vm_py}/LICENSE DESTINATION ${walle_vmdir} RENAME LICENSE.cpython COMPONENT vm)
