"""Deflate a container's strings and modules one by one and write it as a C file.

Modules are deflated behind the first one, as if its bytes came before theirs: 5 % less. (One stream for all
would save 6 %, and inflate everything for the first import; LZMA 22 %, at a sixth of the speed.)

pack.py CONTAINER OUT.c
"""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path

HEADER = 60
BEHIND_FIRST = 2  # a flag of a module's entry (src/cpp/vm/inside/code/container.c)
WINDOW = 1 << 15  # of deflate


def deflate(raw: bytes, prior: bytes = b"") -> bytes:
    """Raw deflate, or the input itself where that does not help (equal sizes mean stored)."""
    level = (9, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY)
    packer = zlib.compressobj(*level, prior[-WINDOW:]) if prior else zlib.compressobj(*level)
    packed = packer.compress(raw) + packer.flush()
    return packed if len(packed) < len(raw) else raw


def repack(data: bytes) -> bytes:
    strings, raw_size, _, modules = struct.unpack_from("<4I", data, 44)
    pool = deflate(data[HEADER : HEADER + raw_size])
    table = HEADER + raw_size
    at = table + 20 * modules
    entries, blocks, first = b"", [], b""
    for number in range(modules):
        name, file, flags, size, _ = struct.unpack_from("<5I", data, table + 20 * number)
        raw = data[at : at + size]
        block = deflate(raw, first)
        at += size
        entries += struct.pack("<5I", name, file, flags | (BEHIND_FIRST if first else 0), size, len(block))
        first = first or raw
        blocks.append(block)
    body = struct.pack("<4I", strings, raw_size, len(pool), modules) + pool + entries + b"".join(blocks)
    return data[:40] + struct.pack("<I", zlib.crc32(body)) + body


def main() -> int:
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    packed = repack(source.read_bytes())
    numbers = ",".join(map(str, packed))
    target.write_text(
        "#include <stddef.h>\n"
        f"const unsigned char wvm_library_data[] = {{{numbers}}};\n"
        "const size_t wvm_library_size = sizeof wvm_library_data;\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
