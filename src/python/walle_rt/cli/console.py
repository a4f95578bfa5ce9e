"""What commands print, and where: JSON and text on stdout, progress and complaints on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

# No markup and no emoji: names of files and values may hold brackets and colons.
out = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False)


def emit_json(value: Any) -> None:
    """One JSON object on stdout."""
    sys.stdout.write(json.dumps(value, default=str) + "\n")


@contextmanager
def working(what: str, quiet: bool) -> Iterator[None]:
    """A spinner on stderr while something long runs; nothing when quiet or not on a terminal."""
    if quiet or not err.is_terminal:
        yield
        return
    with err.status(what):
        yield


def size_text(size: int) -> str:
    """Bytes for people."""
    return f"{size / 1e6:.1f} MB" if size >= 1_000_000 else f"{size / 1e3:.1f} kB"


def file_size(path: Path) -> int:
    """Bytes of a file, 0 when it is not there."""
    return path.stat().st_size if path.exists() else 0
