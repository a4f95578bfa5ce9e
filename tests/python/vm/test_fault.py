"""The fault run of tests/fault/isolates.py in its short form, plain and with poisoned arenas."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from commands import run_command

from walle_rt.vm import VM

ROOT = Path(__file__).resolve().parents[3]


def fault_run(*options: str, **environment: str) -> None:
    command = [sys.executable, "-m", "tests.fault.isolates", *options]
    done = run_command(command, folder=ROOT, environment=environment, seconds=270)
    print(done.stdout)
    assert done.stdout.count("ok ") == 4


@pytest.mark.timeout(280)
def test_five_hundred_cycles(vm: VM) -> None:
    fault_run("--cycles", "500", "--scripts", "100")


@pytest.mark.timeout(280)
def test_poisoned_arenas(vm: VM) -> None:
    """Memory of ended isolates is overwritten before the next one gets it: nothing may still use it."""
    fault_run("--cycles", "100", "--isolates", "16", "--scripts", "20", WALLE_VM_POISON="1")
