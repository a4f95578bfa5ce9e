"""Files that are whole or not there, whatever stops the writer."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import ResourceError


def write_whole(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Replace ``path`` in one step; durable when it returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".new")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


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
