"""Seeded damage to a file: cut it, edit bytes, flip bits, write integers that readers trip over."""

from __future__ import annotations

import struct

import numpy as np

# Boundaries of signed and unsigned integers, small negatives, and sizes that overflow when multiplied.
INTERESTING = (
    0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
    0xFFFFFFFE, 0x40000000, 0x3FFFFFFF, 0x20000000, 0x00FFFFFF, 0x01000000, 0xDEADBEEF,
)  # fmt: skip
KINDS = ("truncate", "bytes", "bits", "integer")


def damage(data: bytes, seed: int) -> tuple[str, bytes]:
    """The kind of damage and the damaged copy; the same seed does the same."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    out = bytearray(data)
    if kind == "truncate":
        return kind, bytes(out[: int(rng.integers(0, len(out)))])
    for _ in range(int(rng.integers(1, 9))):
        place = int(rng.integers(0, len(out)))
        if kind == "bytes":
            out[place] = int(rng.integers(0, 256))
        elif kind == "bits":
            out[place] ^= 1 << int(rng.integers(0, 8))
        else:
            place = min(place, len(out) - 4) & ~3
            out[place : place + 4] = struct.pack("<I", INTERESTING[int(rng.integers(0, len(INTERESTING)))])
    return kind, bytes(out)
