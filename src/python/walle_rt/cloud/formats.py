"""What the server reads of packages and reports: the native readers, and no others.

One reader per format, on the device and here: what the server lets through is what devices take.
"""

from __future__ import annotations

from dataclasses import dataclass

from .. import _core


@dataclass(frozen=True)
class Manifest:
    """What a package is, and its files as (name, digest, bytes)."""

    scenario: str
    task: str
    version: str
    files: list[tuple[str, str, int]]


def read_manifest(content: bytes) -> Manifest:
    """A package's manifest, verified whole.

    Raises:
        ModelError: it is none.
    """
    read = _core.package.read(content)
    files = [(name, digest.hex(), size) for name, digest, size, _kind in read["files"]]
    return Manifest(read["scenario"], read["task"], read["version"], files)
