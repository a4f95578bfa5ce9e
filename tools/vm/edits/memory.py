"""Memory: what an isolate weighs, and what it leaves behind when it ends."""

from __future__ import annotations

from .engine import because, insert_after, insert_before, remove, replace

_HASH_HEADER = "Modules/_hacl/include/krml/internal/target.h"
# The largest state, of SHA-512, is three blocks of 272 bytes in all.
_HASH_ROOM = """\
    extern int wvm_make_room(size_t);
    if (wvm_make_room(512) < 0) {
        return NULL;
    }
"""

EDITS = [
    *because(
        "blocks that an extension leaked must not keep the arenas of an ended isolate for ever",
        replace(
            "Objects/obmalloc.c",
            "if (_PyMem_obmalloc_state_on_heap(interp) && leaked == 0) {",
            "if (_PyMem_obmalloc_state_on_heap(interp)) {",
        ),
    ),
    *because(
        "interned names are immortal: upstream frees them in debug builds alone. Those above 512 bytes are "
        "blocks of malloc, not of the isolate's arenas, and outlived it",
        replace(
            "Objects/unicodeobject.c",
            """\
#ifdef Py_DEBUG
            // Skip the Immortal Instance check and restore
            // the two references (key and value) ignored
            // by PyUnicode_InternInPlace().
            _Py_SetMortal(s, 2);
#ifdef Py_REF_DEBUG
""",
            """\
            // Skip the Immortal Instance check and restore
            // the two references (key and value) ignored
            // by PyUnicode_InternInPlace().
            if (!_Py_IsMainInterpreter(interp)) {
                _Py_SetMortal(s, 2);
            }
#ifdef Py_DEBUG
#ifdef Py_REF_DEBUG
""",
        ),
    ),
    *because(
        "a heap that is nearly full is looked through as a whole before it is refused more",
        insert_before(
            "Python/gc.c",
            """\
    if (!gcstate->enabled) {
        return;
    }
    gc_collect_main(tstate, GENERATION_AUTO, _Py_GC_REASON_HEAP);
""",
            """\
    extern int wvm_wants_collection(void);
    if (wvm_wants_collection()) {
        gc_collect_main(tstate, NUM_GENERATIONS - 1, _Py_GC_REASON_HEAP);
        return;
    }
""",
        ),
    ),
    *because(
        "states of hashes came from malloc itself and counted for nothing. HACL does not look at what it "
        "gets: whoever makes a state asks whether there is room",
        *(
            replace(
                _HASH_HEADER,
                f"#  define KRML_HOST_{name.upper()} {name}\n",
                f"""\
extern __attribute__((visibility("hidden"))) {signature};
#  define KRML_HOST_{name.upper()} wvm_hash_{name}
""",
            )
            for name, signature in (
                ("malloc", "void *wvm_hash_malloc(size_t)"),
                ("calloc", "void *wvm_hash_calloc(size_t, size_t)"),
                ("free", "void wvm_hash_free(void *)"),
            )
        ),
        *(
            insert_after(f"Modules/{file}module.c", f"new{kind}object({state})\n{{\n", _HASH_ROOM)
            for file, kind, state in (
                ("md5", "MD5", "MD5State * st"),
                ("sha1", "SHA1", "SHA1State *st"),
                ("sha2", "SHA224", "sha2_state *state"),
                ("sha2", "SHA256", "sha2_state *state"),
                ("sha2", "SHA384", "sha2_state *state"),
                ("sha2", "SHA512", "sha2_state *state"),
            )
        ),
    ),
    *because(
        "64 KB less per isolate",
        replace(
            "Include/internal/pycore_typeobject.h",
            "#define MCACHE_SIZE_EXP 12",
            "#define MCACHE_SIZE_EXP 9",
        ),
    ),
    *because(
        "60 KB less per isolate",
        replace(
            "Include/internal/pycore_function.h",
            "#define FUNC_VERSION_CACHE_SIZE (1<<12)",
            "#define FUNC_VERSION_CACHE_SIZE (1<<8)",
        ),
    ),
    *because(
        "256 KB arenas and 4 KB pools: a bare isolate stays near half a megabyte",
        remove("Include/internal/pycore_obmalloc.h", "#define USE_LARGE_ARENAS\n"),
        remove("Include/internal/pycore_obmalloc.h", "#define USE_LARGE_POOLS\n"),
    ),
    *because(
        "48 bits tell all user addresses apart (tagged pointers of malloc lie in no arena, whatever their "
        "tag): the tree of arenas takes 24 KB and not 1.1 MB of address space, mapped, searched and "
        "unmapped with every isolate",
        replace(
            "Include/internal/pycore_obmalloc.h",
            """\
#define IGNORE_BITS 0

/* use the top""",
            """\
#define IGNORE_BITS 16

/* use the top""",
        ),
    ),
    *because(
        "AddressSanitizer sees the bounds of malloc's blocks alone: there every object is a block of its own",
        insert_before(
            "Objects/obmalloc.c",
            "    if (UNLIKELY(nbytes > SMALL_REQUEST_THRESHOLD)) {",
            """\
#ifdef WALLE_VM_PLAIN_MALLOC
    return NULL;
#endif
""",
        ),
    ),
]
