"""Counted: which devices a gray release has counted, and which of them as failed, durable with its numbers.

Kept in the store as chunks of devices, the newest of which grows, and dropped when the release is gray no
more: 8 bytes a device that has reported, as many again of one that failed, and nothing for ever.
"""

from __future__ import annotations

from array import array

from .device_set import BYTES, DeviceSet, pack, unpack
from .store import Store

CHUNK = 512  # devices of one row: 4 KB, the page that a transaction writes anyway


class _Kept:
    """One of the two sets, and its newest chunk."""

    def __init__(self, release: str, failed: bool, store: Store) -> None:
        self._release, self._failed, self._store = release, failed, store
        chunks = list(store.counted(release, failed))
        self.devices = DeviceSet(chunks)
        self._open = unpack(chunks[-1]) if chunks else array("Q")
        self._at = max(len(chunks) - 1, 0)

    def add(self, device: int) -> bool:
        if not self.devices.add(device):
            return False
        if len(self._open) >= CHUNK:
            self._at, self._open = self._at + 1, array("Q")
        self._open.append(device)
        self._store.put_counted(self._release, self._failed, self._at, pack(self._open))
        return True

    def clear(self) -> None:
        self.devices, self._open, self._at = DeviceSet(), array("Q"), 0


class Counted:
    """The devices of one release."""

    def __init__(self, release: str, store: Store) -> None:
        """As the store has them."""
        self._release, self._store = release, store
        self._all, self._failed = (_Kept(release, failed, store) for failed in (False, True))

    @property
    def all(self) -> DeviceSet:
        """Every device that was counted."""
        return self._all.devices

    @property
    def failed(self) -> DeviceSet:
        """Those of them that failed."""
        return self._failed.devices

    @property
    def bytes(self) -> int:
        """What they take in memory, and in the store."""
        return BYTES * (len(self.all) + len(self.failed))

    def add(self, device: int, failed: bool) -> bool:
        """Count a device; False where it was counted before, as good."""
        if failed:
            self._failed.add(device)
        return self._all.add(device)

    def drop(self) -> None:
        """Forget all, here and in the store."""
        self._store.drop_counted(self._release)
        self._all.clear()
        self._failed.clear()
