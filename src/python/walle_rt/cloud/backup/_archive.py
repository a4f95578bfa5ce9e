"""One file for a server's folder: a tar whose last member, ``manifest.json``, has the digests of the others.

Plain tar, so that what is in it can be had with any tool. The manifest comes last because a file's digest is
known when it was read, once; an archive that was cut off has none. It guards against damage, not against
whoever can write the archive: that holds private keys, and belongs where they do.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tarfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any

from ... import __version__
from ...errors import ResourceError

MANIFEST = "manifest.json"
FORMAT = 1
_MOST_MANIFEST = 256 << 20
_STEP = 1 << 20


@dataclass
class Manifest:
    """What an archive holds.

    Attributes:
        created: when it was begun, seconds since 1970.
        database: the file of the server's database in it; "" where that lies elsewhere.
        walle_rt: the version that wrote it.
        files: (size, SHA-256) of each file, by its path in the server's folder.
    """

    created: float
    database: str = ""
    walle_rt: str = __version__
    format: int = FORMAT
    files: dict[str, tuple[int, str]] = field(default_factory=dict)


class ArchiveWriter:
    """Writes an archive beside ``path``, which appears whole when ``finish`` returns, for its owner alone."""

    def __init__(self, path: Path, created: float) -> None:
        """Begin it.

        Raises:
            ResourceError: there is such a file already, or it cannot be written.
        """
        self._path, self._draft = path, path.with_name(f".{path.name}.part")
        if path.exists():
            raise ResourceError.of(f"'{path}', which exists", "a new file", "walle backup", "choose another")
        try:
            handle = os.open(self._draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        except OSError as error:
            raise ResourceError.of(
                f"'{path}' that cannot be written ({error.strerror})",
                "a folder of yours",
                "walle backup",
                "-o",
            ) from None
        os.fchmod(handle, 0o600)  # one that a killed backup left
        self._file = os.fdopen(handle, "wb")
        self._tar = tarfile.TarFile(fileobj=self._file, mode="w", format=tarfile.PAX_FORMAT)
        self.manifest = Manifest(created)

    def add(self, name: str, source: Path) -> None:
        """One file as it is now; what is appended meanwhile is left out."""
        with source.open("rb") as file:
            info = self._info(name, os.fstat(file.fileno()).st_size)
            hashing = _Hashing(file)
            self._tar.addfile(info, hashing)
        self.manifest.files[name] = (info.size, hashing.digest.hexdigest())

    def finish(self) -> None:
        """With its manifest; durable."""
        text = json.dumps(asdict(self.manifest), sort_keys=True).encode()
        self._tar.addfile(self._info(MANIFEST, len(text)), _Bytes(text))
        self._tar.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._draft.replace(self._path)

    def give_up(self) -> None:
        """Leave nothing."""
        with contextlib.suppress(OSError):
            self._tar.close()
        self._file.close()
        self._draft.unlink(missing_ok=True)

    def _info(self, name: str, size: int) -> tarfile.TarInfo:
        info = tarfile.TarInfo(name)
        info.size, info.mode, info.mtime = size, 0o600, int(self.manifest.created)
        return info


class _Hashing:
    """Reads a file and hashes what was read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.digest = file, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        part = self._file.read(size)
        self.digest.update(part)
        return part


class _Bytes:
    """A text as a file."""

    def __init__(self, text: bytes) -> None:
        self._left = memoryview(text)

    def read(self, size: int = -1) -> bytes:
        part, self._left = bytes(self._left[:size]), self._left[size:]
        return part


def read_archive(path: Path, into: Path) -> Manifest:
    """Unpack an archive into an empty folder, and compare every file with the manifest.

    Raises:
        ResourceError: no archive, one that was cut off or damaged, or one with a member that no backup has.
    """
    try:
        with tarfile.open(path, "r|") as tar:
            found = dict(_members(tar, path, into))
    except (tarfile.TarError, OSError, EOFError) as error:
        raise _damaged(path, str(error)) from None
    text = found.pop(MANIFEST, None)
    if text is None:
        raise _damaged(path, "no manifest at its end: it was cut off")
    manifest = _manifest(path, into / MANIFEST)
    (into / MANIFEST).unlink()
    for name in sorted(set(found) | set(manifest.files)):
        if found.get(name) != tuple(manifest.files.get(name, ())):
            raise _damaged(path, f"'{name}' is not what the manifest says")
    return manifest


def _members(tar: tarfile.TarFile, path: Path, into: Path) -> Iterator[tuple[str, tuple[int, str]]]:
    for member in tar:
        name = PurePosixPath(member.name)
        plain = member.isreg() and not name.is_absolute() and ".." not in name.parts
        if not plain or str(name) != member.name or (name.name == MANIFEST and member.size > _MOST_MANIFEST):
            raise _damaged(path, f"a member '{member.name[:100]}' that no backup has")
        source: Any = tar.extractfile(member)
        yield member.name, _write(source, into / name)


def _write(source: IO[bytes], to: Path) -> tuple[int, str]:
    to.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with os.fdopen(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        while part := source.read(_STEP):
            file.write(part)
            digest.update(part)
            size += len(part)
        file.flush()
        os.fsync(file.fileno())
    return size, digest.hexdigest()


def _manifest(path: Path, file: Path) -> Manifest:
    try:
        given = json.loads(file.read_text())
        if given["format"] != FORMAT:
            raise _damaged(path, f"an archive of format {given['format']}, of walle_rt {given['walle_rt']}")
        return Manifest(**given)
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path, f"a manifest that cannot be read ({error})") from None


def _damaged(path: Path, why: str) -> ResourceError:
    return ResourceError.of(
        f"'{path}': {why}", "a whole archive of walle backup", "walle restore", "take another backup"
    )
