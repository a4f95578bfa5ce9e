"""Deflate a container's strings and modules one by one and write it as a C file.

pack.py CONTAINER OUT.c
"""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path

HEADER = 60


def deflate(raw: bytes) -> bytes:
    """Raw deflate, or the input itself where that does not help (equal sizes mean stored)."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    packed = packer.compress(raw) + packer.flush()
    return packed if len(packed) < len(raw) else raw


def repack(data: bytes) -> bytes:
    strings, raw_size, _, modules = struct.unpack_from("<4I", data, 44)
    pool = deflate(data[HEADER : HEADER + raw_size])
    table = HEADER + raw_size
    at = table + 20 * modules
    entries, blocks = b"", []
    for number in range(modules):
        name, file, is_package, size, _ = struct.unpack_from("<5I", data, table + 20 * number)
        block = deflate(data[at : at + size])
        at += size
        entries += struct.pack("<5I", name, file, is_package, size, len(block))
        blocks.append(block)
    body = struct.pack("<4I", strings, raw_size, len(pool), modules) + pool + entries + b"".join(blocks)
    return data[:40] + struct.pack("<I", zlib.crc32(body)) + body


def main() -> int:
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    packed = repack(source.read_bytes())
    numbers = ",".join(map(str, packed))
    target.write_text(
        "#include <stddef.h>\n"
        f"const unsigned char walle_vm_library_data[] = {{{numbers}}};\n"
        "const size_t walle_vm_library_size = sizeof walle_vm_library_data;\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
