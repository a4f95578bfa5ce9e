"""Paths as the native core takes them."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import ArgumentError


def path_text(path: str | os.PathLike[str], where: str) -> str:
    """The path as text, its ``~`` expanded; ArgumentError when it is no path, told of ``where``."""
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError.of(
            f"a path of type {type(path).__name__}", "a string or Path", where, "pass a path"
        )
    text = os.fsdecode(path)
    if text.startswith("~") and not Path(text).exists():
        text = os.path.expanduser(text)  # noqa: PTH111, where Path.expanduser raises for an unknown user
    if "\0" in text:
        raise ArgumentError.of(f"path {text!r}", "a path without NUL characters", where, "check the path")
    return text
