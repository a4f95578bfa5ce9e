"""Scenarios as git repositories: a task is a branch, a version an annotated tag, a large file a pointer.

A scenario is a bare repository that plain ``git`` clones, logs, diffs and pushes to. Files of more than
64 KiB lie in the blob store; the repository has pointers to them in the shape of Git LFS.

>>> from walle_rt.cloud.git import GitApp, ScenarioRepository
"""

from .pointers import LARGEST_FILE, Pointer
from .repository import Author, PublishedVersion, ScenarioRepository
from .rules import RefusedError
from .serve import GitApp, token_of

__all__ = [
    "LARGEST_FILE",
    "Author",
    "GitApp",
    "Pointer",
    "PublishedVersion",
    "RefusedError",
    "ScenarioRepository",
    "token_of",
]
