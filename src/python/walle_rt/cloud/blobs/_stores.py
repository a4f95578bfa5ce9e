"""Who may read a blob: each team's own, apart, and those that devices get.

A digest is an address and no permission. What a team uploads lies in a store of its own, which whoever may
read the scenario is served from; what a published version has for devices is in the devices' store as well.
So the files of a server's half, what was uploaded and not published, and another team's files are nowhere
that a device's request looks, and whether another team has a file shows in no answer: the same content of
two teams is two files.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path

from ..._core import names
from ._store import BlobStore


class Stores:
    """The devices' blobs and each team's. Threads and processes may use the folders at once.

    Args:
        devices: folder of what devices get, which anybody may read.
        teams: folder of the teams' own, one below it for each scenario.
        most_blob_bytes: of one blob.
    """

    def __init__(self, devices: Path, teams: Path, *, most_blob_bytes: int = 1 << 34) -> None:
        """Open the devices' store; a team's is made when it is asked for."""
        self.devices = BlobStore(devices, most_blob_bytes=most_blob_bytes)
        self._teams, self._most = teams, most_blob_bytes
        self._lock = threading.Lock()
        self._open: dict[str, BlobStore] = {}

    def team(self, scenario: str) -> BlobStore:
        """What the team of a scenario has uploaded.

        Raises:
            ArgumentError: no name of a scenario.
        """
        names.check("scenario", scenario, "blobs")
        with self._lock:
            if scenario not in self._open:
                self._open[scenario] = BlobStore(self._teams / scenario, most_blob_bytes=self._most)
            return self._open[scenario]

    def give_devices(self, scenario: str, digests: Iterable[str]) -> None:
        """Let devices have these files of a team.

        Raises:
            ArgumentError: the team does not have one of them.
            ResourceError: the disk is full.
        """
        mine = self.team(scenario)
        for digest in digests:
            self.devices.take(mine, digest)
