"""Folders of tasks to publish, and plain ``git`` in child processes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from waits import PATIENCE_S

from walle_rt.vm import VM

needs_vm = pytest.mark.skipif(not VM.available(), reason="no VM library: packing compiles")
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="no git")

TOML = """
[task]
name = "{name}"
version = "{version}"
[triggers]
clicked = "click"
[entry]
main = "main"
[limits.main]
wall_ms = 60000
[resources]
include = {include}
[results.seen]
columns = {{ n = "int" }}
"""
MAIN = "def main(event):\n    return {{'n': {n}}}\n"


def write_task(folder: Path, name: str = "rank", version: str = "1.0.0", n: int = 1, **files: bytes) -> Path:
    """A task's folder; ``files`` are further ones, with ``__`` for the dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for key, content in files.items():
        (folder / key.replace("__", ".")).write_bytes(content)
    include = ["words.txt", *sorted(file.name for file in folder.glob("*.bin"))]
    (folder / "task.toml").write_text(TOML.format(name=name, version=version, include=include))
    (folder / "main.py").write_text(MAIN.format(n=n))
    (folder / "words.txt").write_text("one\ntwo\n")
    return folder


def git(*arguments: object, folder: Path | None = None, code: int = 0, says: str = "") -> str:
    """Run plain git; returns what it printed."""
    done = subprocess.run(
        ["git", *map(str, arguments)],
        cwd=folder,
        env={
            **os.environ,
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.org",
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "ada@example.org",
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    shown = f"git {' '.join(map(str, arguments))}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert done.returncode == code, shown
    assert says in done.stdout + done.stderr, shown
    return done.stdout
