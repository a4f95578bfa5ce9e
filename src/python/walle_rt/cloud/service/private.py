"""What lies in a server's folder is its owner's alone: keys, databases, hashes of tokens, teams' files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ...errors import ResourceError

UMASK = 0o077  # of the process that serves: what it and its children make is closed to others
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_DATABASES = ("walle.db", "features.db", "answers.db")
_OURS = (
    *(f"{name}{end}" for name in _DATABASES for end in ("", "-wal", "-shm")),
    *("blobs", "repository", "git", "keys", "broker", ".running", ".reserve", ".instance"),
)


def close_to_others(folder: Path) -> int:
    """Take the rights of group and others away from what a server keeps in a folder; from how many things.

    What a process with another umask wrote, or somebody put back, is open to whoever has an account on the
    machine. What else is in the folder is left alone, as is the folder: it may be another one by mistake.

    Raises:
        ResourceError: something in it is another user's.
    """
    closed = 0
    for path in _all_of(folder):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode) or not mode & _OTHERS:
            continue
        try:
            path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
        except PermissionError:
            raise ResourceError.of(
                f"'{path}', which others may read and which is another user's",
                "a folder of the user that serves it",
                f"'{folder}'",
                f"chown it: chown -R {os.geteuid()} {folder}",
            ) from None
        closed += 1
    return closed


def _all_of(folder: Path) -> Iterator[Path]:
    for ours in map(folder.joinpath, _OURS):
        if ours.is_symlink() or not ours.exists():
            continue
        yield ours
        for inside, folders, files in os.walk(ours):
            for name in (*folders, *files):
                yield Path(inside) / name
