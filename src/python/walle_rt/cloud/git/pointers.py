"""Pointers to large files, in the shape that Git LFS gives them (its specification, version 1)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

LARGEST_FILE = 64 << 10  # bytes that a file in git may have; larger ones are pointers
_MOST_BYTES = 1024  # of a pointer, as Git LFS has it
_TEXT = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\noid sha256:([0-9a-f]{64})\nsize (0|[1-9]\d{0,18})\n"
)


@dataclass(frozen=True)
class Pointer:
    """What stands in git for a large file: SHA-256 in hexadecimal, and bytes."""

    sha256: str
    size: int

    @classmethod
    def to(cls, content: bytes) -> Pointer:
        """The pointer that stands for these bytes."""
        return cls(hashlib.sha256(content).hexdigest(), len(content))

    @classmethod
    def read(cls, content: bytes) -> Pointer | None:
        """The pointer that these bytes are; None where they are a file of their own."""
        match = _TEXT.fullmatch(content) if len(content) <= _MOST_BYTES else None
        return cls(match[1].decode(), int(match[2])) if match else None

    def to_bytes(self) -> bytes:
        """As it lies in git."""
        return (
            f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {self.size}\n"
        ).encode()
