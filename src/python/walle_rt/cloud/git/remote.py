"""Publishing into a scenario's repository: a folder of one's own, or a server's over HTTP."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import urllib3
from dulwich.client import HttpGitClient, HTTPUnauthorized
from dulwich.errors import GitProtocolError, NotGitRepository, SendPackError
from dulwich.repo import Repo

from ...errors import ArgumentError, NetworkError
from .repository import Author, ScenarioRepository, make_commit, make_tag
from .rules import RefusedError, package_of, whole_of

_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Edition:
    """One version of a task as it goes into git.

    Attributes:
        task: its name.
        version: semantic version.
        package: package digest, in hexadecimal.
        whole: that of the manifest with the server's files; empty where it has none.
        files: of the task's folder, by name.
        message: of the commit.
        author: of commit and tag.
    """

    task: str
    version: str
    package: str
    files: Mapping[str, bytes]
    message: str
    author: Author
    whole: str = ""


class GitTarget(Protocol):
    """Where versions are published to."""

    def published(self, task: str, version: str) -> tuple[str, str] | None:
        """Package digest of a version and that with the server's files; None: it was not published."""

    def publish(self, edition: Edition) -> str:
        """Put the files on the branch and name that the version, both or none; returns the commit's id."""


class LocalGit:
    """A scenario's repository in a folder; made when it is missing."""

    def __init__(self, repository: ScenarioRepository) -> None:
        """Keep it."""
        self._repository = repository

    def published(self, task: str, version: str) -> tuple[str, str] | None:
        """As GitTarget says."""
        found = self._repository.version(task, version)
        return (found.package, found.whole) if found else None

    def publish(self, edition: Edition) -> str:
        """As GitTarget says; a process that dies between the two is continued by asking once more."""
        repository, author = self._repository, edition.author
        commit = repository.commit(edition.task, edition.files, edition.message, author)
        version = edition.task, edition.version, edition.package
        repository.tag(*version, commit, author, edition.whole)
        return commit.decode()


class HttpGit:
    """A scenario's repository at ``url``, as ``git clone`` takes it.

    Raises:
        NetworkError: from every method: no answer, or none that git gives.
    """

    def __init__(self, url: str, token: str) -> None:
        """Nothing is asked yet."""
        base, _, name = url.rstrip("/").rpartition("/")
        self._url, self._path = url, name.encode()  # relative: a leading slash would drop what lies before
        self._headers = {"Authorization": f"Bearer {token}"}
        # As git itself would send it: dulwich takes no other header along on every request.
        self._client: Any = HttpGitClient(
            base, username="token", password=token, quiet=True, timeout=_TIMEOUT_S
        )

    def published(self, task: str, version: str) -> tuple[str, str] | None:
        """As GitTarget says."""
        with self._told(), _scratch() as repo:
            tag = self._refs().get(f"refs/tags/{task}/{version}".encode())
            if tag is None:
                return None
            self._fetch(repo, tag)
            return package_of(repo[tag]), whole_of(repo[tag])

    def publish(self, edition: Edition) -> str:
        """As GitTarget says, in one push."""
        branch = f"refs/heads/{edition.task}".encode()
        with self._told(), _scratch() as repo:
            tip = self._refs().get(branch)
            if tip is not None:
                self._fetch(repo, tip)
            commit = make_commit(repo, tip, edition.files, edition.message, edition.author)
            version = edition.task, edition.version, edition.package
            tag = make_tag(repo, *version, commit, edition.author, edition.whole)
            wanted = {branch: commit, f"refs/tags/{edition.task}/{edition.version}".encode(): tag}
            # All or none: a tag alone would be a version that no branch has.
            result = self._client.send_pack(
                self._path, lambda _: wanted, generate_pack_data=repo.generate_pack_data, atomic=True
            )
            refusals = {name: why for name, why in (result.ref_status or {}).items() if why}
        for why in refusals.values():
            given, _, next_step = str(why).partition(": ")
            raise RefusedError.of(
                given, "what a scenario's repository may hold", self._url, next_step or "fetch"
            )
        return commit.decode()

    def blob(self, digest: str) -> bytes:
        """The file that a pointer stands for; ArgumentError where the server does not have it."""
        with self._told():
            reply = self._client.pool_manager.request(
                "GET", f"{self._url}/blobs/{digest}", headers=self._headers, timeout=_TIMEOUT_S
            )
        if reply.status != 200:
            raise ArgumentError.of(
                f"status {reply.status} for file {digest[:16]}...",
                "one that was uploaded",
                self._url,
                "check the scenario and your token, or publish the task again from where the file is",
            )
        return bytes(reply.data)

    def _refs(self) -> dict[bytes, bytes]:
        return dict(self._client.get_refs(self._path).refs)

    def _fetch(self, repo: Any, sha: bytes) -> None:
        self._client.fetch(self._path, repo, determine_wants=lambda _refs, **_: [sha], depth=1)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What may come of the network, in this library's words."""
        try:
            yield
        except HTTPUnauthorized:
            raise ArgumentError.of(
                "a token that does not count", "one that the server gave you", self._url, "log in again"
            ) from None
        except NotGitRepository:
            raise ArgumentError.of(
                "no such repository", "a scenario of the server", self._url, "check --scenario and --server"
            ) from None
        except (GitProtocolError, SendPackError, OSError, urllib3.exceptions.HTTPError) as error:
            raise NetworkError.of(
                f"a repository that does not answer ({type(error).__name__}: {error})",
                "a scenario that you may push to",
                self._url,
                "check the server's address and your token's role",
            ) from None


@contextmanager
def _scratch() -> Iterator[Any]:
    """An empty repository for objects on their way."""
    with tempfile.TemporaryDirectory(prefix="walle-publish-") as folder:
        repo = Repo.init_bare(folder)
        try:
            yield repo
        finally:
            repo.close()
