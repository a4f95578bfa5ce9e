"""Files by their SHA-256, in a folder: what packages and repositories point at.

>>> from walle_rt.cloud.blobs import BlobStore
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from ..._core import names
from ...errors import ArgumentError, ResourceError
from ._ranges import one_range

_STEP = 1 << 18  # bytes read or hashed at a time
_ABANDONED_S = 24 * 3600.0  # an upload that nothing was written to for so long has no sender any more


@dataclass(frozen=True)
class Part:
    """What a request for a blob, or for a range of one, is answered with.

    Attributes:
        status: 200, 206 for a range, 304 for one that the asker has, 416 for a range outside the blob.
        start: of the first byte that is sent.
        stop: behind the last one.
        size: bytes of the whole blob.
        headers: of the answer, all but the server's own.
    """

    status: int
    start: int
    stop: int
    size: int
    headers: dict[str, str]


class BlobStore:
    """Blobs as ``<first two digits>/<digest>``: a file that is there is whole and has its digest.

    Uploads lie in ``.uploads`` until their digest was checked. Threads and processes may use one folder at
    once; the same blob twice is one file.

    Args:
        folder: made when it is missing.
        most_bytes: of all blobs together; None: as many as the disk takes.
        most_blob_bytes: of one.
    """

    def __init__(
        self, folder: Path | str, *, most_bytes: int | None = None, most_blob_bytes: int = 1 << 34
    ) -> None:
        """Open the folder; what a killed process left there a day ago is removed."""
        self.folder = Path(folder)
        self.most_bytes, self.most_blob_bytes = most_bytes, most_blob_bytes
        self._uploads = self.folder / ".uploads"
        self._uploads.mkdir(parents=True, exist_ok=True)
        for leftover in self._uploads.iterdir():
            with suppress(FileNotFoundError):  # its sender has ended meanwhile
                if time.time() - leftover.stat().st_mtime > _ABANDONED_S:
                    leftover.unlink()

    def path(self, digest: str) -> Path:
        """Where a blob lies or would lie.

        Raises:
            ArgumentError: no digest: nothing that comes from a request becomes another path.
        """
        names.check("sha256", digest, "blobs")
        return self.folder / digest[:2] / digest

    def __contains__(self, digest: str) -> bool:
        """Whether the blob is there."""
        return self.path(digest).is_file()

    def size(self, digest: str) -> int:
        """Bytes of a blob; ArgumentError when it is not there."""
        try:
            return self.path(digest).stat().st_size
        except FileNotFoundError:
            raise ArgumentError.of(
                f"no blob {digest[:16]}...", "one that was uploaded", f"'{self.folder}'", "upload it first"
            ) from None

    def digests(self) -> Iterator[str]:
        """Of every blob, in no order."""
        for folder in self.folder.glob("[0-9a-f][0-9a-f]"):
            yield from (file.name for file in folder.iterdir() if names.valid("sha256", file.name))

    def used(self) -> int:
        """Bytes of all blobs."""
        return sum(self.path(digest).stat().st_size for digest in self.digests())

    # -- in ------------------------------------------------------------------------------------------------

    def put(self, content: bytes) -> str:
        """Store bytes; returns their digest. ResourceError where they do not fit."""
        digest = hashlib.sha256(content).hexdigest()
        if digest not in self:
            with self.receive(digest) as upload:
                upload.write(content)
                upload.keep()
        return digest

    def receive(self, digest: str) -> Upload:
        """Begin to receive the blob of this digest."""
        return Upload(self, self._uploads / secrets.token_hex(16), digest)

    def take(self, other: BlobStore, digest: str) -> None:
        """Have a blob of another store: the same file under a second name, a copy where that cannot be.

        Raises:
            ArgumentError: the other store does not have it.
            ResourceError: a copy that does not fit.
        """
        if digest in self:
            return
        other.size(digest)
        draft, target = self._uploads / secrets.token_hex(16), self.path(digest)
        try:
            os.link(other.path(digest), draft)
        except OSError:  # another file system, or one without links
            with self.receive(digest) as upload:
                for chunk in other.chunks(digest):
                    upload.write(chunk)
                upload.keep()
            return
        target.parent.mkdir(exist_ok=True)
        draft.replace(target)
        draft.unlink(missing_ok=True)  # it stays where both are names of one file already
        _sync(target.parent)
        _sync(self.folder)

    def _room(self) -> int:
        """Bytes that the next blob may have."""
        if self.most_bytes is None:
            return self.most_blob_bytes
        return min(self.most_blob_bytes, max(0, self.most_bytes - self.used()))

    @contextmanager
    def _placing(self) -> Iterator[None]:
        """With a limit of all blobs one is placed at a time: two may fit each, and not together."""
        if self.most_bytes is None:
            yield
            return
        with (self.folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    # -- out -----------------------------------------------------------------------------------------------

    def read(self, digest: str) -> bytes:
        """All bytes of a blob; ArgumentError when it is not there."""
        self.size(digest)
        return self.path(digest).read_bytes()

    def chunks(self, digest: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """The bytes from ``start`` to before ``stop`` (default: the end), in pieces of at most 256 KiB."""
        left = (self.size(digest) if stop is None else stop) - start
        with self.path(digest).open("rb") as file:
            file.seek(start)
            while left > 0 and (chunk := file.read(min(left, _STEP))):
                left -= len(chunk)
                yield chunk

    def part(self, digest: str, *, range_: str = "", if_range: str = "", if_none_match: str = "") -> Part:
        """What to answer a request with these headers (RFC 9110); the bytes are then chunks(start, stop).

        One range is answered, several are as none. A range is both ends inclusive; one that begins behind the
        last byte is 416. A blob never changes: its digest is its ETag.

        Raises:
            ArgumentError: no such blob.
        """
        size = self.size(digest)
        etag = f'"{digest}"'
        headers = {
            "ETag": etag,
            "Accept-Ranges": "bytes",
            "Cache-Control": "public, max-age=31536000, immutable",
        }
        known = [each.strip().removeprefix("W/") for each in if_none_match.split(",")]
        if etag in known or "*" in known:
            return Part(304, 0, 0, size, headers)
        wanted = one_range(range_, size) if range_ and if_range in ("", etag) else None
        if wanted is None:
            return Part(200, 0, size, size, headers | {"Content-Length": str(size)})
        start, stop = wanted
        if start >= stop:
            return Part(
                416, 0, 0, size, headers | {"Content-Range": f"bytes */{size}", "Content-Length": "0"}
            )
        ranged = {"Content-Range": f"bytes {start}-{stop - 1}/{size}", "Content-Length": str(stop - start)}
        return Part(206, start, stop, size, headers | ranged)


class Upload:
    """A blob on its way in; nothing of it is to be seen before ``keep()``. Left without it, it is gone."""

    def __init__(self, store: BlobStore, draft: Path, digest: str) -> None:
        """Open the draft."""
        self._store, self._draft, self._digest = store, draft, digest
        self._target = store.path(digest)
        self._room = store._room()
        self._file: BinaryIO = draft.open("xb")
        self._hash = hashlib.sha256()
        self.size = 0

    def __enter__(self) -> Upload:
        """As a context: dropped unless kept."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Drop what was not kept."""
        self.drop()

    def write(self, chunk: bytes) -> None:
        """The next bytes.

        Raises:
            ResourceError: the blob, or all of them together, grow beyond their limit, or the disk is full.
        """
        self.size += len(chunk)
        if self.size > self._room:
            self._refuse(f"a blob of more than {self._room} bytes", "one that fits into the store")
        self._hash.update(chunk)
        try:
            self._file.write(chunk)
        except OSError as error:
            self._refuse(f"a blob that cannot be stored ({error.strerror})", "a disk with space")

    def keep(self) -> None:
        """Put the blob in its place, durably.

        Raises:
            ArgumentError: the bytes have another digest.
            ResourceError: the disk is full.
        """
        found = self._hash.hexdigest()
        if found != self._digest:
            self.drop()
            raise ArgumentError.of(
                f"{self.size} bytes with SHA-256 {found}",
                self._digest,
                "blob",
                "send the file whose digest you named",
            )
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            with self._store._placing():
                if self.size > self._store._room() and not self._target.is_file():
                    self._refuse(f"{self.size} bytes beyond what all blobs may have", "one that fits in")
                self._target.parent.mkdir(exist_ok=True)
                self._draft.replace(self._target)
            _sync(self._target.parent)
            _sync(self._store.folder)
        except OSError as error:
            self._refuse(f"a blob that cannot be stored ({error.strerror})", "a disk with space")

    def drop(self) -> None:
        """Forget what came; nothing behind ``keep()``."""
        with suppress(OSError):  # what could not be written is not wanted
            self._file.close()
        self._draft.unlink(missing_ok=True)

    def _refuse(self, given: str, expected: str) -> None:
        self.drop()
        raise ResourceError.of(
            given, expected, f"'{self._store.folder}'", "remove what is not needed, or give it more room"
        )


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
