"""The application of a task that is tried: functions of a Python file."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..errors import ArgumentError


def stand_ins(names: Iterable[str], file: Path | None) -> dict[str, Callable[..., Any]]:
    """Functions of a Python file that have names of a task's [app]; what it lacks is not provided.

    Raises:
        ArgumentError: no such file, or one that does not run.
    """
    if file is None:
        return {}
    try:
        found = runpy.run_path(str(file))
    except Exception as error:
        raise ArgumentError.of(
            f"--app {file} ({type(error).__name__}: {error})", "a Python file", "--app", "correct it"
        ) from error
    return {name: found[name] for name in names if callable(found.get(name))}
