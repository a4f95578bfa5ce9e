"""A folder with one writer."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import ResourceError


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """One writer at a time in ``folder``; a second one is refused rather than made to wait.

    Raises:
        ResourceError: another process is changing the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ResourceError.of(
                f"'{folder}', which another process is changing",
                "one writer at a time",
                "repository",
                "wait until it is done",
            ) from None
        yield
