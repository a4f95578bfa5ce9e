"""Listing: which versions of a scenario's tasks are authentic, and stay so."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..._core import names
from ...errors import ArgumentError
from ...whole_files import write_whole
from . import retention
from .direction import Direction
from .files import only_writer
from .keys import KeyFolder
from .signing import Expiry


@dataclass(frozen=True)
class Version:
    """One published version of a task."""

    path: str
    sha256: str
    size: int
    published: int


class Listing(Direction):
    """A repository that versions are published to.

    Args:
        folder: what is served to devices; holds no private key.
        keys: folders of private keys.
        expiry: how long signatures count.
        now: the clock, in UTC.
        named: of a scenario, the paths of versions that something can name: they stay listed. What the
            director's files name stays in any case.
    """

    def __init__(
        self,
        folder: Path | str,
        keys: Iterable[KeyFolder],
        *,
        expiry: Expiry | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        named: Callable[[str], Iterable[str]] = lambda scenario: (),
    ) -> None:
        """Open a repository that exists, or one that ``create()`` is about to make."""
        super().__init__(folder, keys, expiry, now)
        self._named = named

    def publish(self, scenario: str, task: str, version: str, content: bytes) -> Version:
        """List one version of a task; what is neither named nor among the last three drops out of the list.

        The same bytes a second time change nothing while they are listed. Needs the scenario's key.

        Raises:
            ArgumentError: a name or version that is none; a version that was published with other bytes, even
                one that is not listed any more.
        """
        names.check("task", task, "publish")
        names.check("version", version, f"task '{task}'")
        path = names.package_path(scenario, task, version)
        digest = hashlib.sha256(content).hexdigest()
        with only_writer(self.folder):
            role = self._load_scenario(scenario)
            self._refuse_other_bytes(path, digest)
            if path in role.signed.targets:
                return version_of(role.signed.targets[path])
            named = self.named(scenario)
            self._list_named(role, named)
            target = retention.add_version(role.signed, path, content, named)
            write_whole(self._blob(path, digest), content)
            self._commit({scenario: self._bumped(role, scenario)})
            return version_of(target)

    def versions(self, scenario: str, task: str) -> list[Version]:
        """The versions of a task that are listed, oldest first."""
        targets = self._load_scenario(scenario).signed.targets
        found = [version_of(target) for path, target in targets.items() if f"/{task}/" in path]
        return sorted(found, key=lambda v: v.published)

    def named(self, scenario: str) -> frozenset[str]:
        """The paths of versions that stay listed, because something can name them."""
        names_now = [path for path in self._directed() if path.startswith(f"{scenario}/")]
        return frozenset([*self._named(scenario), *names_now])

    def lists(self, scenario: str, path: str) -> bool:
        """Whether a scenario lists this path."""
        return path in self._load_scenario(scenario).signed.targets

    def list_again(self, scenario: str, path: str) -> bool:
        """List a version that was published, for as long as it is named; False where it is listed.

        Needs the scenario's key where it is not.

        Raises:
            ArgumentError: never published, or the scenario's key is not here.
        """
        with only_writer(self.folder):
            role = self._load_scenario(scenario)
            if path in role.signed.targets:
                return False
            if not self._list_named(role, [path]):
                raise ArgumentError.of(
                    f"'{path}'",
                    "a version that was published",
                    "repository",
                    "publish it: walle task publish",
                )
            self._list_named(role, self.named(scenario))
            self._commit({scenario: self._bumped(role, scenario)})
            return True

    def _list_named(self, role: Any, paths: Iterable[str]) -> int:
        """Put what is named and not listed back into a role, as it was published; how many."""
        added = 0
        for path in paths:
            folder, _, name = path.rpartition("/")
            found = list((self.folder / "targets" / folder).glob(f"*.{name}"))
            if path not in role.signed.targets and found:
                retention.add_named(role.signed, path, found[0].read_bytes())
                added += 1
        return added

    def _refuse_other_bytes(self, path: str, digest: str) -> None:
        """Files stay when they drop out of the list, so a version means the same bytes for ever."""
        folder, _, name = path.rpartition("/")
        for file in (self.folder / "targets" / folder).glob(f"*.{name}"):
            if file.name.partition(".")[2] == name and file.name.partition(".")[0] != digest:
                raise ArgumentError.of(
                    f"'{path}' with other bytes than it was published with",
                    "a version of its own for other bytes",
                    "repository",
                    "raise the version",
                )


def version_of(target: Any) -> Version:
    """As a role lists it."""
    return Version(target.path, target.hashes["sha256"], target.length, retention.number(target))
