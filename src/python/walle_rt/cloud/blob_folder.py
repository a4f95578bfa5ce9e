"""Files by digest, received from uploads."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from pathlib import Path
from typing import BinaryIO

from ..errors import ArgumentError

_DIGEST = re.compile(r"[0-9a-f]{64}")


class BlobFolder:
    """Blobs as ``<first two digits>/<digest>``; a file that is there is whole and right.

    Uploads lie in ``.uploads`` until their digest was checked; what a killed process left there is removed at
    the next start.
    """

    def __init__(self, folder: Path) -> None:
        """Open or make the folder."""
        self.folder = folder
        self._uploads = folder / ".uploads"
        self._uploads.mkdir(parents=True, exist_ok=True)
        for leftover in self._uploads.iterdir():
            leftover.unlink()

    def path(self, digest: str) -> Path:
        """Where a blob lies or would lie.

        Raises:
            ArgumentError: no digest.
        """
        if not _DIGEST.fullmatch(digest):
            raise ArgumentError.of(
                f"'{digest[:80]}'", "64 lower-case hexadecimal digits", "digest", "give the file's SHA-256"
            )
        return self.folder / digest[:2] / digest

    def __contains__(self, digest: str) -> bool:
        return self.path(digest).is_file()

    def receive(self, digest: str) -> Upload:
        """Begin to receive the blob of this digest."""
        return Upload(self._uploads / secrets.token_hex(16), self.path(digest), digest)


class Upload:
    """A blob on its way in. Ends with ``keep()`` or ``drop()``."""

    def __init__(self, draft: Path, target: Path, digest: str) -> None:
        """Open the draft."""
        self._draft, self._target, self._digest = draft, target, digest
        self._file: BinaryIO = draft.open("wb")
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, chunk: bytes) -> None:
        """The next bytes."""
        self._file.write(chunk)
        self._hash.update(chunk)
        self.size += len(chunk)

    def keep(self) -> None:
        """Put the blob in its place, durably.

        Raises:
            ArgumentError: the bytes have another digest.
        """
        if self._hash.hexdigest() != self._digest:
            self.drop()
            raise ArgumentError.of(
                f"{self.size} bytes with SHA-256 {self._hash.hexdigest()}",
                self._digest,
                "blob",
                "send the file whose digest you named",
            )
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._target.parent.mkdir(exist_ok=True)
        self._draft.replace(self._target)
        handle = os.open(self._target.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def drop(self) -> None:
        """Forget what came."""
        self._file.close()
        self._draft.unlink(missing_ok=True)
