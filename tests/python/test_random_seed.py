"""A random test that fails says how to repeat it, and what it says does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from random_seed import random_seed

FAILS = """
from random_seed import random_seed

def test_that_fails():
    assert not f"drew {random_seed()}"

def test_that_holds():
    assert random_seed(7) == 7
"""


def said(command: list[str] | str, folder: Path) -> str:
    # Without what this very run was given, a seed or another machine: the command repeats that, too.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WALLE_")}
    environment |= {"PYTHONPATH": str(Path(__file__).parent), "WALLE_STREAM_GRAPHS": "1 2"}
    for name in ("PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST"):
        environment.pop(name, None)
    done = subprocess.run(
        command, shell=isinstance(command, str), cwd=folder, env=environment, capture_output=True, text=True
    )
    return done.stdout


def test_a_failure_names_the_command_that_repeats_it(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(FAILS)
    first = said([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", ".", "."], tmp_path)
    assert "1 failed, 1 passed" in first
    [command] = re.findall(r"^repeat with: (.*)$", first, re.MULTILINE)  # the one that holds says nothing
    [drawn] = re.findall(r"AssertionError.*drew (\d+)|not 'drew (\d+)'", first)[:1]
    assert command.startswith(f"WALLE_TEST_SEED={''.join(drawn)} WALLE_STREAM_GRAPHS='1 2' ")
    again = said(command, tmp_path)
    assert f"drew {''.join(drawn)}" in again and "1 failed" in again


def test_the_variable_beats_a_fixed_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WALLE_TEST_SEED", raising=False)
    assert random_seed(7) == 7
    assert random_seed() != random_seed()
    monkeypatch.setenv("WALLE_TEST_SEED", "42")
    assert random_seed() == random_seed(7) == 42
