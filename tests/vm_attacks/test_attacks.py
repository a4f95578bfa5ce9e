"""A sample of the attacks; all of them: ``--vm-attacks=1``, or ``python -m tests.vm_attacks``."""

from __future__ import annotations

import sys

import pytest
from commands import run_command

from walle_rt.vm import VM, library_path


def test_attacks_do_no_harm(pytestconfig: pytest.Config) -> None:
    if not VM.available("full"):
        pytest.skip(f"no VM library at {library_path()}: it was built with WALLE_VM=OFF")
    every = pytestconfig.getoption("--vm-attacks")
    done = run_command(
        [sys.executable, "-m", "tests.vm_attacks", "--every", every],
        folder=pytestconfig.rootpath,
        seconds=3600,
    )
    assert done.stdout.endswith(" 0 did harm\n"), done.stdout
