"""Programs as a user runs them: in a child process, whose exit code and stderr are looked at.

A command that aborts after its right answer passes every test that only reads the answer.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

from waits import PATIENCE_S

# The script that an installed package brings, or else what it is made of.
_SCRIPT = Path(sys.executable).with_name("walle")
WALLE = [str(_SCRIPT)] if _SCRIPT.is_file() else [sys.executable, "-m", "walle_rt"]

# What stderr never holds, whatever else a program has to say there.
_FAULTS = re.compile(
    r"^Traceback \(most recent call last\)|\bFatal Python error\b|^Exception ignored\b|\w+Warning: |"
    r"\bterminate called\b|\bSegmentation fault\b|Sanitizer\b|\bresource_tracker\b",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Finished:
    """A program that ended as it was expected to."""

    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """Its output, one JSON value."""
        return json.loads(self.stdout)


def run_command(
    command: Sequence[object],
    *,
    code: int = 0,
    says: str = "",
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    seconds: float = PATIENCE_S,
) -> Finished:
    """Run a program to its end and fail the test when it ends otherwise than expected.

    ``code`` is its exit code; ``says`` lies in its stderr, which is empty otherwise. ``environment`` is added
    to this process's own. A program that was asked to fail may say on stderr why, but not by a fault.
    """
    done = subprocess.run(
        list(map(str, command)),
        env={**os.environ, **(environment or {})},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    shown = f"{' '.join(map(str, command))}\nexit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert done.returncode == code, shown
    assert says in done.stderr, shown
    assert says or code or not done.stderr, shown
    assert not _FAULTS.search(done.stderr.replace(says, "") if says else done.stderr), shown
    return Finished(done.stdout, done.stderr)


def run_walle(*arguments: object, **expected: Any) -> Finished:
    """The command ``walle`` with these arguments; what is expected of it as for ``run_command``."""
    return run_command([*WALLE, *arguments], **expected)


def run_python(script: str, **expected: Any) -> Finished:
    """A program of Python, indented as it stands in the test."""
    return run_command([sys.executable, "-c", dedent(script)], **expected)
