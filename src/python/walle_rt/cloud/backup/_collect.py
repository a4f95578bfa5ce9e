"""What a backup takes from a server's folder, in which order, while the server works.

What names something is read before what it names: databases first, in one consistent view each (SQLite's
backup API), then histories with their references before their objects, then the metadata under the
repository's lock, then files by digest, which nobody changes. So everything that is named in the archive is
in it; what a publish under way has put there beside is found again when it is repeated.
"""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ...errors import ResourceError
from ..trust.files import only_writer
from ._archive import ArchiveWriter, Manifest

_DATABASE = "walle.db"
_KEPT_OF_BROKER = "broker/port"  # what waits in it for devices that are away is sent again by who has it
_PATIENCE_S = 30.0  # for a signature that is being made


def back_up(folder: Path, path: Path, now_s: float) -> Manifest:
    """Write an archive of a server's folder, whether it is being served or not.

    Args:
        folder: of the server.
        path: of the archive to be made, for its owner alone: it holds every private key of the folder.
        now_s: seconds since 1970.

    Raises:
        ResourceError: no folder of a server, or the archive cannot be written.
    """
    if not (folder / "repository" / "metadata" / "timestamp.json").is_file():
        raise ResourceError.of(f"'{folder}'", "a server's folder", "walle backup", "check the path")
    writer = ArchiveWriter(path, now_s)
    try:
        with tempfile.TemporaryDirectory(prefix=".walle-backup-", dir=path.parent) as work:
            _databases(writer, folder, Path(work))
        _files(writer, folder, _histories(folder / "git"))
        with _unchanged(folder / "repository"):
            _files(writer, folder, _walk(folder / "repository"))
        done = {folder / name for name in ("git", "repository", "blobs", "broker")}
        _files(writer, folder, _walk(folder / "blobs"))
        _files(writer, folder, (p for top in sorted(folder.iterdir()) if top not in done for p in _walk(top)))
        if (folder / _KEPT_OF_BROKER).is_file():
            writer.add(_KEPT_OF_BROKER, folder / _KEPT_OF_BROKER)
        writer.finish()
    except BaseException:
        writer.give_up()
        raise
    return writer.manifest


def _databases(writer: ArchiveWriter, folder: Path, work: Path) -> None:
    for source in sorted(folder.glob("*.db")):
        copy = work / source.name
        with (
            closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as open_one,
            closing(sqlite3.connect(copy)) as made,
        ):
            open_one.backup(made)
        writer.add(source.name, copy)
        copy.unlink()
    if (folder / _DATABASE).is_file():
        writer.manifest.database = _DATABASE


def _histories(folder: Path) -> Iterator[Path]:
    for repository in sorted(folder.iterdir()) if folder.is_dir() else ():
        files = list(_walk(repository))
        objects = repository / "objects"
        yield from (path for path in files if objects not in path.parents)
        yield from (path for path in _walk(objects))


def _files(writer: ArchiveWriter, folder: Path, paths: Iterable[Path]) -> None:
    for path in paths:
        name = path.relative_to(folder).as_posix()
        if name not in writer.manifest.files:
            try:
                writer.add(name, path)
            except FileNotFoundError:
                continue  # removed meanwhile; what was read before does not name it


def _walk(top: Path) -> Iterator[Path]:
    """Files that last: no drafts of whole files, no uploads under way, no locks; databases are read above."""
    if top.name.startswith(".") or ".db" in top.suffixes or top.suffix in (".db-wal", ".db-shm"):
        return
    if top.is_file():
        yield top
    elif top.is_dir():
        for inner in sorted(top.iterdir()):
            yield from _walk(inner)


@contextmanager
def _unchanged(repository: Path) -> Iterator[None]:
    """Nobody signs meanwhile."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            lock = only_writer(repository)
            lock.__enter__()
            break
        except ResourceError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
    try:
        yield
    finally:
        lock.__exit__(None, None, None)
