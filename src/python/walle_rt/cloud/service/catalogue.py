"""Catalogue: versions of tasks, and what publishing one means on the server."""

from __future__ import annotations

import hashlib
from pathlib import Path

from sqlalchemy import select

from ... import _core
from ..._core import names
from ...errors import ArgumentError, ResourceError
from ...task._package import Package
from ..blobs import BlobStore
from ..model.audit import append
from ..model.tables import Version
from ..phase import content_of
from ..release import Params
from ..trust import Version as Listed
from .state import ServerState

MOST_MANIFEST = 1024 * 1024


def publish(
    state: ServerState,
    scenario: str,
    task: str,
    version: str,
    whole: bytes,
    by: str,
    signed: bytes | None = None,
) -> Version:
    """Check a package against its manifest, list it in the trust, note it.

    ``whole`` names the files of the server's half, too; it stays with the team, and the one without them is
    what is listed. ``signed`` is the scenario's role with the version in it, where the team has signed it by
    itself.

    A process that dies behind the trust leaves a version that is authentic and that nobody released;
    publishing the same bytes again completes it.

    Raises:
        TaskError: bytes that are no manifest.
        ArgumentError: a manifest of something else, or of a version that has other bytes.
        ResourceError: files that were not uploaded.
    """
    where = f"{scenario}/{task} {version}"
    package = Package.from_bytes(whole)
    public = package.for_devices()
    manifest = whole if public == package else public.to_bytes()
    named = (package.scenario, package.task, package.version)
    if named != (scenario, task, version):
        raise ArgumentError.of(
            f"the manifest of {package.scenario}/{package.task} {package.version}",
            where,
            "publish",
            "publish under the names that the package was packed with",
        )
    mine = state.team_blobs(scenario)
    missing = [file.name for file in package.files if not _is_there(mine, file.sha256, file.size)]
    if missing:
        raise ResourceError.of(
            f"{len(missing)} files that are not there, or of another size ('{missing[0]}')",
            "every file of the package",
            where,
            "upload them first",
        )
    with_cloud = None if manifest == whole else mine.put(whole)
    with state.signing:
        known = _find(state, scenario, task, version)
        if known is not None:
            if (known.sha256, known.whole) == (hashlib.sha256(manifest).hexdigest(), with_cloud):
                # Listed anew where it has dropped out meanwhile.
                _list(state, scenario, task, version, manifest, signed)
                return known
            raise ArgumentError.of(
                "other bytes than it was published with", "a version of its own", where, "raise the version"
            )
        state.stores.give_devices(scenario, (file.sha256 for file in public.files))
        listed = _list(state, scenario, task, version, manifest, signed)
        row = Version(
            scenario=scenario,
            task=task,
            version=version,
            path=listed.path,
            sha256=listed.sha256,
            size=listed.size,
            whole=with_cloud,
            by=by,
            created=state.now(),
        )
        with state.database.writing() as session:
            session.add(row)
            session.flush()
            detail = {"sha256": listed.sha256} | ({"whole": with_cloud} if with_cloud else {})
            append(session, state.now(), by, "version.publish", where, detail)
        return row


def _list(
    state: ServerState, scenario: str, task: str, version: str, manifest: bytes, signed: bytes | None
) -> Listed:
    if signed is None:
        return state.repository.publish(scenario, task, version, manifest)
    path = names.package_path(scenario, task, version)
    state.repository.accept(scenario, signed, {path: manifest})
    for listed in state.repository.versions(scenario, task):
        if listed.path == path:
            return listed
    raise ArgumentError.of(
        f"a role without {path}", "one that lists it", "signed role", "sign it with walle task publish --keys"
    )


def renew(state: ServerState, scenario: str, signed: bytes, by: str) -> None:
    """Take a scenario's role as it stands, which its team has signed anew.

    Raises:
        ArgumentError: not the next version of the role, not signed by its key, or other versions in it.
    """
    with state.signing:
        state.repository.accept(scenario, signed, {})
        with state.database.writing() as session:
            append(session, state.now(), by, "role.renew", scenario)


def find_version(state: ServerState, scenario: str, task: str, version: str) -> Version:
    """A version that was published.

    Raises:
        ArgumentError: there is none.
    """
    row = _find(state, scenario, task, version)
    if row is None:
        raise ArgumentError.of(
            f"version '{version}' of '{task}'",
            "one that was published",
            f"scenario '{scenario}'",
            "publish it first: walle task publish",
        )
    return row


class PublishedPackages:
    """Manifests and files of the versions that were published, for whoever runs them here."""

    def __init__(self, state: ServerState) -> None:
        """Keep it."""
        self._state = state

    def manifest(self, digest: str) -> bytes:
        """The manifest of the package with this digest, the server's files in it.

        Raises:
            ResourceError: no version has it, or its file is gone.
        """
        with self._state.database.reading() as session:
            row = session.scalars(select(Version).where(Version.sha256 == digest)).first()
        if row is None:
            raise ResourceError.of(
                f"package '{digest[:16]}...'", "one that was published here", "cloud phase",
                "publish it: walle task publish",
            )  # fmt: skip
        folder, _, name = row.path.rpartition("/")
        path = self._state.settings.folder / "repository" / "targets" / folder / f"{digest}.{name}"
        if row.whole is not None:
            path = self.file(row.scenario, row.whole)
        try:
            return path.read_bytes()
        except OSError as error:
            raise ResourceError.of(
                f"'{path}' ({error.strerror})",
                f"the manifest of {row.path}",
                "cloud phase",
                "publish it again",
            ) from error

    def fitting_params(self, digest: str, given: Params) -> Params:
        """What a release sets of the parameters of the version with this digest, of the types it declares.

        Raises:
            ArgumentError: a name that it does not declare, a value outside what it declares.
            ResourceError: as `manifest`; a file of it is gone.
        """
        package = Package.from_bytes(self.manifest(digest))
        (said,) = [file for file in package.files if file.name == _core.package.MANIFEST]
        return _core.task.check_params(content_of(self, package, said), given)

    def file(self, scenario: str, digest: str) -> Path:
        """Where a file of a scenario's team lies."""
        return self._state.team_blobs(scenario).path(digest)


def _find(state: ServerState, scenario: str, task: str, version: str) -> Version | None:
    same = (Version.scenario == scenario, Version.task == task, Version.version == version)
    with state.database.reading() as session:
        return session.scalars(select(Version).where(*same)).first()


def _is_there(blobs: BlobStore, digest: str, size: int) -> bool:
    path = blobs.path(digest)
    return path.is_file() and path.stat().st_size == size
