"""Rules of a push: what may come into a scenario, over HTTP or by ``walle task publish``."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from typing import Any

from dulwich.graph import can_fast_forward
from dulwich.objects import Commit, Tag

from ..._core import names
from ...errors import ArgumentError
from ..blobs import BlobStore
from .pointers import LARGEST_FILE, Pointer

NOTHING = b"0" * 40  # the id of what is not there
MOST_FILES = 4096  # of one version
MOST_COMMITS = 10_000  # of one push
TASK_FILE = b"task.toml"
_HEADS, _TAGS = b"refs/heads/", b"refs/tags/"
_PACKAGE, _WHOLE = b"package sha256:", b"whole sha256:"
_FILE_MODES = (0o100644, 0o100755)
_MOST_DEPTH = 32  # of folders


class RefusedError(ArgumentError):
    """Why a branch or tag is not taken."""


def _refused(given: str, next_step: str) -> RefusedError:
    return RefusedError.of(given, "what a scenario's repository may hold", "git", next_step)


def check_update(repo: Any, ref: bytes, old: bytes, new: bytes, blobs: BlobStore | None) -> None:
    """Whether ``ref`` may go from ``old`` to ``new``, whose objects are in ``repo`` already.

    Raises:
        RefusedError: it may not; nothing was changed.
    """
    if new == NOTHING:
        raise _refused(
            "a branch or version that is to be deleted", "leave it: a version means the same for ever"
        )
    try:
        if task_of(ref):
            _check_branch(repo, old, new, blobs)
        elif version_of(ref):
            _check_tag(repo, ref.removeprefix(_TAGS), old, new)
        else:
            raise _refused(f"{_shown(ref)}", "name branches as tasks, and tags TASK/1.2.3")
    except KeyError as error:
        raise _refused(f"object {_shown(error.args[0])}, which is not there", "push it too") from None


def task_of(ref: bytes) -> str:
    """The task whose branch this is; empty where it is none."""
    name = ref.removeprefix(_HEADS)
    return name.decode() if ref.startswith(_HEADS) and names.valid("task", name) else ""


def version_of(ref: bytes) -> tuple[str, str] | None:
    """Task and version of a version's tag; None where it is none."""
    task, _, version = ref.removeprefix(_TAGS).partition(b"/")
    whole = ref.startswith(_TAGS) and names.valid("task", task) and names.valid("version", version)
    return (task.decode(), version.decode()) if whole else None


def package_of(tag: Any) -> str:
    """The package digest that a version's tag says, in hexadecimal; empty where it says none."""
    return _digest_of(tag, _PACKAGE)


def whole_of(tag: Any) -> str:
    """The digest of the manifest with the server's files that a version's tag says; empty: it has none."""
    return _digest_of(tag, _WHOLE)


def _digest_of(tag: Any, label: bytes) -> str:
    for line in (tag.message or b"").split(b"\n"):
        digest = line.removeprefix(label)
        if line.startswith(label) and names.valid("sha256", digest):
            return str(digest.decode())
    return ""


def _check_branch(repo: Any, old: Any, new: Any, blobs: BlobStore | None) -> None:
    if not isinstance(repo[new], Commit):
        raise _refused("a branch that is no commit", "push a commit")
    if old != NOTHING and not can_fast_forward(repo, old, new):
        raise _refused("a branch that does not go forward", "fetch, and put your commits on top")
    past = [] if old == NOTHING else [old]
    walker = repo.get_walker(include=[new], exclude=past, max_entries=MOST_COMMITS + 1)
    commits = [entry.commit for entry in walker]
    if len(commits) > MOST_COMMITS:
        raise _refused(f"more than {MOST_COMMITS} new commits", "push them in parts")
    seen: set[bytes] = set()
    for commit in commits:
        _check_tree(repo, commit.tree, blobs, seen)
    if TASK_FILE not in repo[repo[new].tree]:
        raise _refused("a branch without task.toml at its root", "make the task's folder the root")


def _check_tree(repo: Any, tree: bytes, blobs: BlobStore | None, seen: set[bytes]) -> None:
    """Every file of a commit, each content once in ``seen``."""
    for count, (name, mode, sha) in enumerate(_entries(repo, tree, b"", 1), 1):
        if count > MOST_FILES:
            raise _refused(f"more than {MOST_FILES} files and folders", "put many small files into one")
        if stat.S_ISDIR(mode):
            continue
        if mode not in _FILE_MODES:
            raise _refused(f"{_shown(name)}, a link or a submodule", "put the file itself there")
        if sha not in seen:
            seen.add(sha)
            _check_file(name, repo[sha].data, blobs)


def _entries(repo: Any, tree: bytes, folder: bytes, depth: int) -> Iterator[tuple[bytes, int, bytes]]:
    """Name, mode and id of all that is in a tree. A few small trees may name each other a million times."""
    if depth > _MOST_DEPTH:
        raise _refused(f"folder {_shown(folder)}, {_MOST_DEPTH} deep", "use fewer folders")
    for part, mode, sha in repo[tree].iteritems():
        if b"/" in part:  # one part, as git reads it; two folders, as whoever unpacks it does
            raise _refused(f"file {_shown(folder + part)} with a slash in a part", "rename the file")
        check_name(folder + part)
        yield folder + part, mode, sha
        if stat.S_ISDIR(mode):
            yield from _entries(repo, sha, folder + part + b"/", depth + 1)


def _check_file(name: bytes, content: bytes, blobs: BlobStore | None) -> None:
    if len(content) > LARGEST_FILE:
        raise _refused(
            f"{_shown(name)} of {len(content)} bytes, more than {LARGEST_FILE}",
            "let `walle task publish` upload it and put a pointer there",
        )
    pointer = Pointer.read(content)
    if pointer is None or blobs is None:
        return
    if pointer.sha256 not in blobs or blobs.size(pointer.sha256) != pointer.size:
        raise _refused(
            f"{_shown(name)}, a pointer to a file that was not uploaded", "run `walle task publish`"
        )


def _check_tag(repo: Any, name: bytes, old: bytes, new: bytes) -> None:
    if old != NOTHING:
        raise _refused("a version that was published", "raise the version: one means the same for ever")
    tag = repo[new]
    if not isinstance(tag, Tag) or not isinstance(repo[tag.object[1]], Commit):
        raise _refused("a version that is no annotated tag of a commit", "let `walle task publish` make it")
    if tag.name != name:
        raise _refused(f"a tag that is named {_shown(tag.name)} inside", "make the tag anew")
    if not package_of(tag):
        raise _refused("a tag without a line 'package sha256:...'", "let `walle task publish` make it")


def check_name(name: bytes) -> None:
    """Whether a file's name is a relative path of plain parts; RefusedError where it is not."""
    try:
        names.check("file", name, "git")
    except ArgumentError as error:
        raise RefusedError.of(error.given, error.expected, error.where, error.next_step) from None


def _shown(name: bytes) -> str:
    return f"'{name[:60].decode(errors='replace')}'"
