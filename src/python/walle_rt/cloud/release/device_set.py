"""DeviceSet: which devices a release has counted, at 8 bytes a device, in memory as in the store.

Exact: a filter with a chance of being wrong would drop the first failure of a device that never failed. The
pseudonyms are the server's own hashes, which no device chooses, so their first bits spread them evenly over
the parts; a part is a sorted array, in which a search takes a microsecond. A Python set would take ten times
the memory.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable

_PARTS = 4096  # of 22 million devices 5,400 each: 43 KB are moved to put one in
_SHIFT = 52  # of 64 bits
BYTES = 8  # of a device


class DeviceSet:
    """Pseudonyms of 64 bits. Grows with its devices; nothing is taken out."""

    def __init__(self, packed: Iterable[bytes] = ()) -> None:
        """Of the texts that `pack` made."""
        self._parts: dict[int, array[int]] = {}
        self._count = 0
        for text in packed:
            for device in unpack(text):
                self.add(device)

    def __len__(self) -> int:
        """How many devices."""
        return self._count

    def __contains__(self, device: object) -> bool:
        """Whether a device is one of them."""
        if not isinstance(device, int):
            return False
        part = self._parts.get(device >> _SHIFT)
        if part is None:
            return False
        at = bisect_left(part, device)
        return at < len(part) and part[at] == device

    def add(self, device: int) -> bool:
        """One more; False where it was there."""
        part = self._parts.setdefault(device >> _SHIFT, array("Q"))
        assert device >> _SHIFT < _PARTS, "a pseudonym of more than 64 bits"
        at = bisect_left(part, device)
        if at < len(part) and part[at] == device:
            return False
        part.insert(at, device)
        self._count += 1
        return True


def pack(devices: array[int]) -> bytes:
    """As stores keep them: 8 bytes each, the lowest first."""
    if sys.byteorder == "little":
        return devices.tobytes()
    out = devices[:]
    out.byteswap()
    return out.tobytes()


def unpack(text: bytes) -> array[int]:
    """The inverse of `pack`."""
    out = array("Q")
    out.frombytes(text)
    if sys.byteorder == "big":
        out.byteswap()
    return out
