"""A few of the kills and replacements of tests/fault/container.py, as the command makes them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from walle_rt.vm import VM, library_path

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.skipif(
    not VM.available("device") or not VM.available("full"), reason=f"no VM library at {library_path()}"
)


def said(*args: str, module: str = "container") -> str:
    """What the command prints; it forks and kills, so it runs beside this process."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.fault.{module}", *args],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4000:] + done.stdout
    return done.stdout


def test_kills() -> None:
    told = said("--kills", "6", "--seed", "3")
    assert told.startswith("6 kills, ") and told.endswith("0 events lost, 0 firings lost, 0 doubled\n")


def test_replaces() -> None:
    told = said("--kills", "0", "--replaces", "60")
    assert told.startswith("60 replacements, ") and "0 lost, 0 doubled, 0 mixed phases" in told


def test_damage() -> None:
    told = said("--cases", "26", "--every-bit", "19997", module="device_damage")
    assert "damaged devices: contents 0, unreported 0, again 0, numbers 0, acknowledged 0, unopened 0" in told
