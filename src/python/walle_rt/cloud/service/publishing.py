"""Publishing a version of a task: its files, its history, and that it is authentic.

>>> from walle_rt.cloud.service.publishing import FolderTarget, publish
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from dulwich.config import StackedConfig

from ..._core import names
from ...errors import ArgumentError, ResourceError
from ...task import Task
from ...task._package import Package, PackedTask
from ..blobs import Stores
from ..git import LARGEST_FILE, Author, Pointer, ScenarioRepository
from ..git.remote import Edition, GitTarget, HttpGit, LocalGit
from ..trust import Expiry, KeyFolder, TaskRepository, next_role

_ROOT_FILES = (".gitattributes", ".gitignore")  # hidden files that belong to a repository


class Api(Protocol):
    """The server's admin API, as the commands have it."""

    url: str

    def get(self, path: str) -> Any:
        """GET, below /api/v1."""

    def post(self, path: str, given: Any = None) -> Any:
        """POST of JSON, below /api/v1."""

    def put(self, path: str, given: Any) -> Any:
        """PUT of JSON, below /api/v1."""

    def put_bytes(self, path: str, content: bytes) -> Any:
        """PUT of bytes, below /api/v1."""


class Target(Protocol):
    """Where a task is published to."""

    @property
    def git(self) -> GitTarget:
        """The scenario's repository."""

    def missing(self, digests: Iterable[str]) -> list[str]:
        """Those of the digests whose files are not there."""

    def upload(self, digest: str, content: bytes) -> None:
        """Store a file."""

    def download(self, digest: str) -> bytes:
        """A file that was stored."""

    def list_version(self, packed: PackedTask) -> None:
        """Make a version authentic: devices may be told to run it from then on."""


class FolderTarget:
    """A folder of which any web server may hand parts out, and one's own keys: without a companion server.

    ``blobs/`` holds what devices get, by digest, and ``repository/`` the signed metadata, made by ``walle
    keys init`` and ``walle keys scenario``: these two are for everybody. ``git/`` has the repositories and
    ``teams/`` all files that were uploaded, those of the server's halves too: they stay with their teams.

    Args:
        folder: of the three.
        scenario: whose task is published.
        keys: folders with the keys of the scenario, of snapshot and of timestamp.
    """

    def __init__(self, folder: Path | str, scenario: str, keys: Iterable[KeyFolder]) -> None:
        """Open the folder; blobs and the scenario's repository are made when they are missing.

        Raises:
            ArgumentError: the scenario was not added, or has no such name.
            ResourceError: there is no signed repository in the folder.
        """
        root = Path(folder)
        self._scenario = scenario
        self._trust = TaskRepository(root / "repository", keys)
        if scenario not in self._trust.roles():
            raise ArgumentError.of(
                f"scenario '{scenario}'", "one that was added", f"'{root}'", "add it: walle keys scenario"
            )
        self._stores = Stores(root / "blobs", root / "teams")
        self._blobs = self._stores.team(scenario)
        (root / "git").mkdir(exist_ok=True)
        self.git: GitTarget = LocalGit(ScenarioRepository.create(root / "git", scenario, self._blobs))

    def missing(self, digests: Iterable[str]) -> list[str]:
        """As Target says."""
        return [digest for digest in digests if digest not in self._blobs]

    def upload(self, digest: str, content: bytes) -> None:
        """As Target says."""
        with self._blobs.receive(digest) as upload:
            upload.write(content)
            upload.keep()

    def download(self, digest: str) -> bytes:
        """As Target says."""
        return self._blobs.read(digest)

    def list_version(self, packed: PackedTask) -> None:
        """As Target says."""
        self._stores.give_devices(self._scenario, packed.blobs)
        package = packed.package
        self._trust.publish(self._scenario, package.task, package.version, packed.manifest)


class ServerTarget:
    """A companion server, which has the scenario's key, unless that is in ``keys``: then what makes a version
    authentic is signed here, and the server checks and stores it."""

    def __init__(self, api: Api, token: str, scenario: str, keys: Iterable[KeyFolder] = ()) -> None:
        """Nothing is asked yet."""
        self._scenario, self._keys = scenario, list(keys)
        self._api, self._at, self._git = (
            api,
            f"/scenarios/{scenario}",
            HttpGit(_git_url(api, scenario), token),
        )
        self.git: GitTarget = self._git

    def missing(self, digests: Iterable[str]) -> list[str]:
        """As Target says."""
        reply = self._api.post(f"{self._at}/blobs/missing", {"digests": list(digests)})
        return [str(digest) for digest in reply["digests"]]

    def upload(self, digest: str, content: bytes) -> None:
        """As Target says."""
        self._api.put_bytes(f"{self._at}/blobs/{digest}", content)

    def download(self, digest: str) -> bytes:
        """As Target says."""
        return self._git.blob(digest)

    def list_version(self, packed: PackedTask) -> None:
        """As Target says."""
        package = packed.package
        at = f"{self._at}/tasks/{package.task}/versions/{package.version}"
        if not self._keys:
            self._api.put_bytes(at, packed.whole)
            return
        reply = self._api.get(f"{self._at}/role")
        path = names.package_path(self._scenario, package.task, package.version)
        given = (reply["role"], path, packed.manifest, self._keys, reply["keyids"])
        signed = next_role(*given, datetime.now(UTC), Expiry().scenario, reply["named"])
        self._api.put(f"{at}/signed", {"manifest": base64.b64encode(packed.whole).decode(), "role": signed})


def _git_url(api: Api, scenario: str) -> str:
    return f"{api.url}/git/{scenario}.git"


@dataclass(frozen=True)
class Published:
    """What publishing came to.

    Attributes:
        package: what was published, the server's files too.
        digest: the package digest, in hexadecimal.
        commit: id of the commit that the version names; empty where it was published before.
        uploaded: files that were not there, by digest: bytes.
    """

    package: Package
    digest: str
    commit: str
    uploaded: dict[str, int]


def publish(
    folder: Path | str, scenario: str, target: Target, author: Author, message: str = ""
) -> Published:
    """Publish the version that a task's folder says it is.

    Files first, then history, then trust: what is named is there. Whoever dies between may ask again, and the
    same bytes a second time change nothing. A version that was published with other bytes is refused.

    Raises:
        TaskError: the folder is wrong; the message says where.
        ArgumentError: the version was published with other bytes, or the rules of the repository refuse it.
        ResourceError: a pointer in the folder; ``fetch_files`` puts the files there.
    """
    files = folder_files(folder)
    _refuse_pointers(files, folder)
    packed = Task(folder).pack(scenario)
    package, where = packed.package, f"{scenario}/{packed.package.task} {packed.package.version}"
    before = target.git.published(package.task, package.version)
    whole = hashlib.sha256(packed.whole).hexdigest() if packed.whole != packed.manifest else ""
    if before is not None and before != (packed.digest, whole):
        digests = whole or packed.digest, before[1] or before[0]
        raise ArgumentError.of(
            f"package {digests[0][:16]}... for a version that was published as {digests[1][:16]}...",
            "a version of its own for other bytes",
            where,
            "raise task.version in task.toml",
        )
    large = {hashlib.sha256(data).hexdigest(): data for data in files.values() if len(data) > LARGEST_FILE}
    uploaded = _upload(target, {**large, **packed.blobs, **packed.cloud_blobs})
    commit = ""
    if before is None:
        text = message or f"{package.task} {package.version}"
        edition = Edition(package.task, package.version, packed.digest, files, text, author, whole)
        commit = target.git.publish(edition)
    target.list_version(packed)
    return Published(Package.from_bytes(packed.whole), packed.digest, commit, uploaded)


def folder_files(folder: Path | str) -> dict[str, bytes]:
    """What of a task's folder goes into git, by name: all but hidden files and ``__pycache__``."""
    root, found = Path(folder), {}
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root)
        hidden = any(part.startswith(".") or part == "__pycache__" for part in inside.parts)
        if path.is_file() and (not hidden or inside.as_posix() in _ROOT_FILES):
            found[inside.as_posix()] = path.read_bytes()
    return found


def fetch_files(folder: Path | str, target: Target) -> list[str]:
    """Put the files there that pointers in a clone's folder stand for; returns their names.

    Raises:
        ResourceError: the server sent something else.
        ArgumentError: the server does not have it.
    """
    done = []
    for name, content in folder_files(folder).items():
        pointer = Pointer.read(content)
        if pointer is None:
            continue
        data = target.download(pointer.sha256)
        if Pointer.to(data) != pointer:
            raise ResourceError.of(
                f"{len(data)} bytes with SHA-256 {hashlib.sha256(data).hexdigest()}",
                pointer.sha256,
                f"'{name}'",
                "try again, or ask who runs the server",
            )
        (Path(folder) / name).write_bytes(data)
        done.append(name)
    return done


def _refuse_pointers(files: Mapping[str, bytes], folder: Path | str) -> None:
    names = [name for name, content in files.items() if Pointer.read(content)]
    if names:
        raise ResourceError.of(
            f"'{names[0]}', a pointer to a file",
            "the file itself",
            f"'{folder}'",
            f"walle task fetch {folder}",
        )


def _upload(target: Target, blobs: Mapping[str, bytes]) -> dict[str, int]:
    uploaded = {}
    for digest in target.missing(blobs):
        target.upload(digest, blobs[digest])
        uploaded[digest] = len(blobs[digest])
    return uploaded


def git_author() -> tuple[str, str]:
    """Name and mail address that git's configuration has for this user; empty where it has none."""
    config = StackedConfig.default()
    found = []
    for key in (b"name", b"email"):
        try:
            found.append(config.get((b"user",), key).decode())
        except KeyError:
            found.append("")
    return found[0], found[1]
