"""Metadata folder: the signed files of a repository, as they lie there."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from tuf.api.exceptions import RepositoryError, StorageError
from tuf.api.metadata import Metadata
from tuf.api.serialization.json import JSONSerializer

from ...errors import ArgumentError, ResourceError
from ...whole_files import write_whole

DIRECTOR = "director"
TOP = ("root", "timestamp", "snapshot", "targets")


class MetadataFolder:
    """Metadata in ``<folder>/metadata``, files in ``<folder>/targets``, as any TUF client reads them.

    Args:
        folder: what is served to devices; holds no private key.
    """

    def __init__(self, folder: Path | str) -> None:
        """Nothing is read yet."""
        self.folder = Path(folder)

    def roles(self) -> list[str]:
        """The names of all roles."""
        return [*TOP, *self._load("targets").signed.delegations.roles]

    def scenarios(self) -> list[str]:
        """The names of all scenarios."""
        return [name for name in self._load("targets").signed.delegations.roles if name != DIRECTOR]

    def root_id(self) -> str:
        """SHA-256 of the first root, by which devices know this repository for ever."""
        return hashlib.sha256((self._metadata / "1.root.json").read_bytes()).hexdigest()

    @property
    def _metadata(self) -> Path:
        return self.folder / "metadata"

    def _blob(self, path: str, digest: str) -> Path:
        folder, _, name = path.rpartition("/")
        return self.folder / "targets" / folder / f"{digest}.{name}"

    def _load_root(self) -> Any:
        numbers = [int(f.name.split(".")[0]) for f in self._metadata.glob("*.root.json")]
        if not numbers:
            raise ResourceError.of(
                f"'{self.folder}' without a root", "a repository", "repository", "make one: walle keys init"
            )
        return self._read(f"{max(numbers)}.root.json")

    def _load(self, role: str) -> Any:
        """The file of a role that the present snapshot names."""
        timestamp = self._read("timestamp.json")
        version = timestamp.signed.snapshot_meta.version
        if role == "timestamp":
            return timestamp
        snapshot = self._read(f"{version}.snapshot.json")
        if role == "snapshot":
            return snapshot
        return self._read(f"{snapshot.signed.meta[f'{role}.json'].version}.{role}.json")

    def _load_scenario(self, scenario: str) -> Any:
        if scenario == DIRECTOR or scenario not in self._load("targets").signed.delegations.roles:
            raise ArgumentError.of(
                f"scenario '{scenario}'", "one that was added", "repository", "add it: walle keys scenario"
            )
        return self._load(scenario)

    def _read(self, name: str) -> Any:
        try:
            return Metadata.from_file(str(self._metadata / name))
        except StorageError:
            raise ResourceError.of(
                f"no '{name}'",
                "a repository",
                f"'{self._metadata}'",
                "check the path, or make one: walle keys init",
            ) from None
        except RepositoryError as error:
            raise ResourceError.of(
                f"'{name}' that cannot be read ({error})",
                "signed metadata",
                f"'{self._metadata}'",
                "take the folder from your backup",
            ) from None

    def _role(self, role: str) -> tuple[Any, Any]:
        """The file that names a role's keys, and what it says of the role."""
        if role in TOP:
            root = self._load_root()
            return root, root.signed.roles[role]
        targets = self._load("targets")
        try:
            return targets, targets.signed.delegations.roles[role]
        except KeyError:
            known = ", ".join([*TOP, *targets.signed.delegations.roles])
            raise ArgumentError.of(
                f"role '{role}'", f"one of {known}", "repository", "check the name"
            ) from None

    def _save(self, metadata: Any, name: str) -> None:
        write_whole(self._metadata / name, metadata.to_bytes(JSONSerializer(compact=True)))
