"""One version of a task as it is published and fetched: a manifest, and files by their SHA-256."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import Any

from .. import _core
from ..errors import ResourceError, TaskError
from ..whole_files import write_whole

BLOBS = "blobs"  # the folder of files beside a manifest


class FileKind(IntEnum):
    """What a file of a package is."""

    CODE = 0
    RESOURCE = 1
    POLICY = 2
    CLOUD = 3


@dataclass(frozen=True)
class PackageFile:
    """A file of a package: its name in the task, SHA-256 in hexadecimal, bytes."""

    name: str
    sha256: str
    size: int
    kind: FileKind


@dataclass(frozen=True)
class Package:
    """What the manifest of a package says (docs/reference/formats/package.md).

    Attributes:
        scenario: whose task it is.
        task: its name.
        version: semantic version.
        vm: id of the VM that the code was compiled for.
        op_set: id of the operators of the engine it was packed with; empty where no file is a model.
        ram_bytes: the heap's limit and all files.
        facts: that execute waits for.
        capabilities: host calls it may use.
        imports: modules of the VM's library it may import.
        files: by name.
    """

    scenario: str
    task: str
    version: str
    vm: str
    op_set: str = ""
    ram_bytes: int = 0
    facts: list[str] = field(default_factory=list)
    capabilities: list[str] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    files: list[PackageFile] = field(default_factory=list)

    @property
    def path(self) -> str:
        """Where a repository lists it."""
        return _core.names.package_path(self.scenario, self.task, self.version)

    def for_devices(self) -> Package:
        """What devices are told of it: without the files that the server alone runs with."""
        return replace(self, files=[file for file in self.files if file.kind is not FileKind.CLOUD])

    def to_bytes(self) -> bytes:
        """The manifest; equal packages give equal bytes on every machine.

        Raises:
            TaskError: a name, number or order that no package has.
        """
        files = [(f.name, bytes.fromhex(f.sha256), f.size, int(f.kind)) for f in self.files]
        return _core.package.pack(vars(self) | {"files": files})

    @classmethod
    def from_bytes(cls, data: bytes) -> Package:
        """Read what to_bytes wrote; TaskError when it is damaged or says what no package may."""
        fields: dict[str, Any] = _core.package.read(bytes(data))
        files = [
            PackageFile(n, digest.hex(), size, FileKind(k)) for n, digest, size, k in fields.pop("files")
        ]
        return cls(**fields, files=files)


@dataclass(frozen=True)
class PackedTask:
    """A package with the bytes of its files: what devices get, and what the server alone does.

    Attributes:
        package: what the manifest says; it names no file of the server's half.
        manifest: its bytes: what is signed, and what devices are told.
        blobs: {SHA-256 in hexadecimal: bytes} of every file for devices; what files share is there once.
        whole: the manifest that names the server's files, too; the same bytes where there are none.
        cloud_blobs: as ``blobs``, of what the server alone gets.
    """

    package: Package
    manifest: bytes
    blobs: dict[str, bytes]
    whole: bytes
    cloud_blobs: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, package: Package, contents: dict[str, bytes]) -> PackedTask:
        """Take a package with all of its files apart; ``contents`` has them by their SHA-256."""
        public = package.for_devices()
        blobs = {file.sha256: contents[file.sha256] for file in public.files}
        rest = {digest: content for digest, content in contents.items() if digest not in blobs}
        return cls(public, public.to_bytes(), blobs, package.to_bytes(), rest)

    @property
    def digest(self) -> str:
        """The package digest: SHA-256 of the manifest, in hexadecimal."""
        return hashlib.sha256(self.manifest).hexdigest()

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write ``<task>-<version>.walp``, and each file as ``blobs/<SHA-256>``; returns the manifest's path.

        It is what devices get: nothing of the server's half is in it. Files that are there are left alone, so
        that tasks packed into one folder share them. The manifest comes last: what it names is there.

        Raises:
            ResourceError: the folder cannot be written.
        """
        root = Path(folder)
        path = root / f"{self.package.task}-{self.package.version}.walp"
        try:
            for digest, content in self.blobs.items():
                blob = root / BLOBS / digest
                if not _holds(blob, content):
                    write_whole(blob, content)
            write_whole(path, self.manifest)
        except OSError as error:
            raise ResourceError.of(
                f"'{root}' ({error.strerror})", "a folder with space", "packing a task", "choose another one"
            ) from error
        return path


def _holds(blob: Path, content: bytes) -> bool:
    """Whether it is there, whole: a damaged one is written anew."""
    try:
        return blob.stat().st_size == len(content) and blob.read_bytes() == content
    except FileNotFoundError:
        return False


def read_package(path: str | os.PathLike[str]) -> Package:
    """The manifest in a file.

    Raises:
        ResourceError: it cannot be read.
        TaskError: it is damaged, or no manifest.
    """
    try:
        return Package.from_bytes(Path(path).read_bytes())
    except OSError as error:
        raise ResourceError.of(
            f"'{path}' ({error.strerror})", "a .walp file", "reading a package", "check the path"
        ) from error
    except TaskError as error:
        raise TaskError.of(error.given, error.expected, f"'{path}'", error.next_step) from None
