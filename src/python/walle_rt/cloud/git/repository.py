"""A scenario's bare repository, and what is read and written there without a working tree."""

from __future__ import annotations

import fcntl
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dulwich.errors import HookError, NotGitRepository
from dulwich.hooks import Hook
from dulwich.index import commit_tree
from dulwich.object_store import MemoryObjectStore
from dulwich.objects import Blob, Commit, Tag
from dulwich.repo import Repo

from ..._core import names
from ...errors import ResourceError
from ..blobs import BlobStore
from .pointers import LARGEST_FILE, Pointer
from .rules import NOTHING, RefusedError, check_name, check_update, package_of, task_of, version_of, whole_of

_FILE = 0o100644
_MOST_PUSH = 64 << 20  # bytes of one push: files over 64 KiB are not in it


@dataclass(frozen=True)
class Author:
    """Who a commit says it is from."""

    name: str
    email: str = ""

    def __post_init__(self) -> None:
        """Refuse what would end the line that it stands in."""
        names.check("author", self.name, "commit")
        if self.email:
            names.check("author", self.email, "commit")

    def to_bytes(self) -> bytes:
        """As git writes it."""
        return f"{self.name} <{self.email}>".encode()


@dataclass(frozen=True)
class PublishedVersion:
    """A version's tag.

    Attributes:
        task: whose it is.
        version: semantic version.
        package: package digest, SHA-256 in hexadecimal.
        whole: that of the manifest with the server's files; empty where it has none.
        commit: id of the commit that it was made from.
        by: who published it.
        seconds: since 1970, when.
    """

    task: str
    version: str
    package: str
    whole: str
    commit: str
    by: str
    seconds: int


class ScenarioRepository:
    """A scenario: a bare git repository ``<folder>/<scenario>.git``.

    Every change keeps the rules of ``rules.py``, which pushes over HTTP keep too.

    Args:
        folder: of all scenarios.
        scenario: its name.
        blobs: where large files lie; None: pointers are not looked at.

    Raises:
        ArgumentError: a name that is none.
        ResourceError: there is no such repository; ``create`` makes one.
    """

    def __init__(self, folder: Path | str, scenario: str, blobs: BlobStore | None = None) -> None:
        """Open it."""
        self.path = _path(folder, scenario)
        self.scenario, self._blobs = scenario, blobs
        try:
            self.repo: Any = Repo(str(self.path))
        except (NotGitRepository, FileNotFoundError):
            raise ResourceError.of(
                f"no repository of scenario '{scenario}'",
                f"'{self.path}'",
                "git",
                "add the scenario first, or check its name",
            ) from None
        self.repo.hooks["update"] = _Update(self.repo, blobs)

    @classmethod
    def create(cls, folder: Path | str, scenario: str, blobs: BlobStore | None = None) -> ScenarioRepository:
        """Make the repository, or open the one that is there."""
        path = _path(folder, scenario)
        if not path.is_dir():
            _make(path)
        return cls(folder, scenario, blobs)

    def close(self) -> None:
        """Let go of its files."""
        self.repo.close()

    # -- what is there -------------------------------------------------------------------------------------

    def tasks(self) -> list[str]:
        """Names of the tasks: the branches."""
        return sorted(task for ref in self.repo.get_refs() if (task := task_of(ref)))

    def tip(self, task: str) -> bytes | None:
        """The newest commit of a task."""
        found: bytes | None = self.repo.get_refs().get(f"refs/heads/{task}".encode())
        return found

    def versions(self, task: str) -> list[PublishedVersion]:
        """A task's versions, in the order in which they were published."""
        found = [_version(self.repo[sha]) for ref, sha in self.repo.get_refs().items() if _names(ref, task)]
        return sorted(found, key=lambda each: (each.seconds, each.version))

    def version(self, task: str, version: str) -> PublishedVersion | None:
        """One version; None where it was not published."""
        sha = self.repo.get_refs().get(f"refs/tags/{task}/{version}".encode())
        return _version(self.repo[sha]) if sha else None

    def files(self, commit: bytes) -> dict[str, bytes]:
        """The files of a commit as they lie in git: pointers where they are large."""
        return read_files(self.repo, commit)

    # -- what is added -------------------------------------------------------------------------------------

    def commit(self, task: str, files: Mapping[str, bytes], message: str, author: Author) -> bytes:
        """Put files on top of a task's branch, large ones as pointers to what lies in the blob store.

        The newest commit where it has the same files.

        Raises:
            RefusedError: the rules do not allow it.
        """
        with self.writing():
            tip = self.tip(task)
            made = make_commit(self.repo, tip, files, message, author)
            if made != tip:
                self._set(f"refs/heads/{task}".encode(), tip or NOTHING, made)
        return made

    def tag(
        self, task: str, version: str, package: str, commit: bytes, author: Author, whole: str = ""
    ) -> None:
        """Name a commit a version.

        Raises:
            RefusedError: the version was published.
        """
        with self.writing():
            made = make_tag(self.repo, task, version, package, commit, author, whole)
            ref = f"refs/tags/{task}/{version}".encode()
            self._set(ref, self.repo.get_refs().get(ref, NOTHING), made)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One writer at a time, of all threads and processes; others wait.

        Git's own locks are files that a killed process leaves for ever: whoever has this lock removes them.
        """
        with (self.path / "walle.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for left in [*self.path.glob("*.lock"), *(self.path / "refs").rglob("*.lock")]:
                if left.name != "walle.lock":
                    left.unlink(missing_ok=True)
            yield

    def _set(self, ref: bytes, old: bytes, new: bytes) -> None:
        check_update(self.repo, ref, old, new, self._blobs)
        done = (
            self.repo.refs.add_if_new(ref, new)
            if old == NOTHING
            else self.repo.refs.set_if_equals(ref, old, new)
        )
        if not done:
            raise RefusedError.of(
                f"'{ref.decode()}', which somebody else has just changed",
                "a branch that stays as it was read",
                "git",
                "try once more",
            )


class _Update(Hook):
    """The rules, asked for each branch and tag of a push."""

    def __init__(self, repo: Any, blobs: BlobStore | None) -> None:
        self._repo, self._blobs = repo, blobs

    def execute(self, *args: Any) -> Any:
        """As dulwich calls it: reference, old and new id."""
        ref, old, new = args
        try:
            # What is there decides, not what the pusher thinks is there.
            check_update(self._repo, ref, self._repo.get_refs().get(ref, NOTHING), new, self._blobs)
        except RefusedError as error:
            # git shows one line: what is wrong, and what to do.
            raise HookError(f"{error.given}: {error.next_step}") from None
        if self._repo.get_refs().get(ref, NOTHING) != old:
            raise HookError("it has changed: fetch first")
        return None, None


# -- objects: the same in a scenario's repository and in the one that a publisher sends from ---------------


def in_git(content: bytes) -> bytes:
    """A file as it lies in git: itself, or the pointer to it."""
    return content if len(content) <= LARGEST_FILE else Pointer.to(content).to_bytes()


def make_commit(
    repo: Any, tip: bytes | None, files: Mapping[str, bytes], message: str, author: Author
) -> bytes:
    """A commit of these files on top of ``tip``; ``tip`` itself where it has the same ones.

    RefusedError for a name that is no relative path of plain parts.
    """
    made, entries = MemoryObjectStore(), []
    for name, content in files.items():
        check_name(name.encode())
        blob = Blob.from_string(in_git(content))
        made.add_object(blob)
        entries.append((name.encode(), blob.id, _FILE))
    tree = commit_tree(made, entries)
    if tip is not None and repo[tip].tree == tree:
        return tip
    commit: Any = Commit()
    commit.tree, commit.parents = tree, [tip] if tip else []
    commit.author = commit.committer = author.to_bytes()
    commit.author_time = commit.commit_time = int(time.time())
    commit.author_timezone = commit.commit_timezone = 0
    commit.encoding, commit.message = b"UTF-8", message.strip().encode() + b"\n"
    made.add_object(commit)
    _add(repo, [made[sha] for sha in made])
    return bytes(commit.id)


def make_tag(
    repo: Any, task: str, version: str, package: str, commit: bytes, author: Author, whole: str = ""
) -> bytes:
    """The tag object of a version."""
    tag: Any = Tag()
    tag.name, tag.object = f"{task}/{version}".encode(), (Commit, commit)
    tag.tagger, tag.tag_time, tag.tag_timezone = author.to_bytes(), int(time.time()), 0
    said = f"package sha256:{package}\n" + (f"whole sha256:{whole}\n" if whole else "")
    tag.message = f"{task} {version}\n\n{said}".encode()
    _add(repo, [tag])
    return bytes(tag.id)


def _add(repo: Any, objects: list[Any]) -> None:
    """As one pack: loose objects are written under locks that a killed process leaves."""
    repo.object_store.add_objects([(each, None) for each in objects])


def read_files(repo: Any, commit: bytes) -> dict[str, bytes]:
    """The files of a commit as they lie in git."""
    entries = repo.object_store.iter_tree_contents(repo[commit].tree)
    return {entry.path.decode(): repo[entry.sha].data for entry in entries}


def _make(path: Path) -> None:
    """Beside its place, and renamed: a repository that is there is whole."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    draft.mkdir(parents=True)
    repo = Repo.init_bare(str(draft))
    config = repo.get_config()
    config.set((b"receive",), b"maxInputSize", str(_MOST_PUSH).encode())
    config.write_to_path()
    repo.close()
    try:
        draft.rename(path)
    except OSError:  # somebody else has just made it
        shutil.rmtree(draft)


def _names(ref: bytes, task: str) -> bool:
    version = version_of(ref)
    return version is not None and version[0] == task


def _version(tag: Any) -> PublishedVersion:
    task, _, version = tag.name.decode().partition("/")
    by = (tag.tagger or b"").decode(errors="replace")
    digests = package_of(tag), whole_of(tag)
    return PublishedVersion(task, version, *digests, tag.object[1].decode(), by, tag.tag_time or 0)


def _path(folder: Path | str, scenario: str) -> Path:
    names.check("scenario", scenario, "git")
    return Path(folder) / f"{scenario}.git"
