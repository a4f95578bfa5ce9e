/* What CPython's configure would find on every 64-bit POSIX target of the VM (glibc, bionic, Darwin), cut to
 * the features that the VM keeps: no files, processes, sockets, signals or locale. One file instead of
 * configure runs per target; what differs between platforms is decided by the preprocessor below. */
#ifndef Py_PYCONFIG_H
#define Py_PYCONFIG_H

#define ALIGNOF_LONG 8
#define ALIGNOF_MAX_ALIGN_T 16
#define ALIGNOF_SIZE_T 8
#define DOUBLE_IS_LITTLE_ENDIAN_IEEE754 1
#define SIZEOF_DOUBLE 8
#define SIZEOF_FLOAT 4
#define SIZEOF_FPOS_T 16
#define SIZEOF_INT 4
#define SIZEOF_LONG 8
#define SIZEOF_LONG_LONG 8
#define SIZEOF_OFF_T 8
#define SIZEOF_PID_T 4
#define SIZEOF_PTHREAD_T 8
#define SIZEOF_SHORT 2
#define SIZEOF_SIZE_T 8
#define SIZEOF_TIME_T 8
#define SIZEOF_UINTPTR_T 8
#define SIZEOF_VOID_P 8
#define SIZEOF_WCHAR_T 4
#define SIZEOF__BOOL 1
#if defined(__APPLE__)
#define SIZEOF_LONG_DOUBLE 8
#define SIZEOF_PTHREAD_KEY_T 8
#else
#define SIZEOF_LONG_DOUBLE 16
#define SIZEOF_PTHREAD_KEY_T 4
#define PTHREAD_KEY_T_IS_COMPATIBLE_WITH_INT 1
#endif

#define STDC_HEADERS 1
#define HAVE_ALLOCA_H 1
#define HAVE_BUILTIN_ATOMIC 1
#define HAVE_CLOCK 1
#define HAVE_CLOCK_GETRES 1
#define HAVE_CLOCK_GETTIME 1
#define HAVE_COMPUTED_GOTOS 1
#define HAVE_ERRNO_H 1
#define HAVE_FCNTL_H 1
#define HAVE_GCC_UINT128_T 1
#define HAVE_GETRANDOM_FALLBACK 1
#define HAVE_INTTYPES_H 1
#define HAVE_LANGINFO_H 1
#define HAVE_LONG_DOUBLE 1
#define HAVE_MKTIME 1
#define HAVE_MMAP 1
#define HAVE_NANOSLEEP 1
#define HAVE_PROTOTYPES 1
#define HAVE_PTHREAD_H 1
#define HAVE_SCHED_H 1
#define HAVE_SNPRINTF 1
#define HAVE_SSIZE_T 1
#define HAVE_STDINT_H 1
#define HAVE_STDIO_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STD_ATOMIC 1
#define HAVE_STRFTIME 1
#define HAVE_STRINGS_H 1
#define HAVE_STRING_H 1
#define HAVE_STRUCT_TM_TM_ZONE 1
#define HAVE_SYS_MMAN_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_TIMEGM 1
#define HAVE_TM_ZONE 1
#define HAVE_UNISTD_H 1
#define HAVE_WCHAR_H 1
#define HAVE_WMEMCMP 1
#define HAVE___UINT128_T 1
#define HAVE_ACOSH 1
#define HAVE_ASINH 1
#define HAVE_ATANH 1
#define HAVE_ERF 1
#define HAVE_ERFC 1
#define HAVE_EXPM1 1
#define HAVE_LOG1P 1
#define HAVE_LOG2 1
#if defined(__linux__)
#define HAVE_LINUX_RANDOM_H 1
#define HAVE_PTHREAD_CONDATTR_SETCLOCK 1
#define HAVE_PTHREAD_GETCPUCLOCKID 1
#define HAVE_SEM_TIMEDWAIT 1
#endif
#if defined(__linux__) && !defined(__ANDROID__)
#define HAVE_GETRANDOM 1
#define HAVE_GETRANDOM_SYSCALL 1
#define HAVE_SYS_RANDOM_H 1
#define HAVE_SYS_SYSCALL_H 1
#endif
#if defined(__APPLE__)
#define HAVE_GETENTROPY 1
#define HAVE_SYS_RANDOM_H 1
#define HAVE_BROKEN_POSIX_SEMAPHORES 1
#endif

#define Py_NO_ENABLE_SHARED_EXPORTS 1
#define RETSIGTYPE void
#define WITH_DECIMAL_CONTEXTVAR 1
#define WITH_FREELISTS 1
#define WITH_PYMALLOC 1
#define _PYTHONFRAMEWORK ""
#define PY_SUPPORT_TIER 1

#define _REENTRANT 1
#if defined(__linux__)
#define _GNU_SOURCE 1
#define _FILE_OFFSET_BITS 64
#endif
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE 1
#endif

#endif
