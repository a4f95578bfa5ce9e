"""Pointers to large files, in the shape that Git LFS gives them (its specification, version 1)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from ..._core import names

LARGEST_FILE = 64 << 10  # bytes that a file in git may have; larger ones are pointers
_BEGIN = b"version https://git-lfs.github.com/spec/v1\noid sha256:"
_MOST_BYTES = 1024  # of a pointer, as Git LFS has it
_MOST_DIGITS = 19  # of a size


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
        digest, _, size = content[len(_BEGIN) :].rstrip(b"\n").partition(b"\nsize ")
        if len(content) > _MOST_BYTES or not names.valid("sha256", digest):
            return None
        if not size.isdigit() or len(size) > _MOST_DIGITS:
            return None
        made = cls(digest.decode(), int(size))
        return made if made.to_bytes() == content else None

    def to_bytes(self) -> bytes:
        """As it lies in git."""
        return _BEGIN + f"{self.sha256}\nsize {self.size}\n".encode()
