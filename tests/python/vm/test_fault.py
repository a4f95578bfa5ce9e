"""The fault run of tests/fault/isolates.py in its short form: 500 cycles, no growth, no failure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from walle_rt.vm import VM

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.timeout(280)
def test_five_hundred_cycles(vm: VM) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.fault.isolates", "--cycles", "500", "--scripts", "100"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=270,
        check=False,
    )
    print(run.stdout)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("ok ") == 4
