"""walle task compile | run | vm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from walle_rt.cli.task import app
from walle_rt.vm import VM

SOURCE = """
import json
def main(*a):
    print('hello')
    return {'n': len(a), 'a': list(a)}
def bad():
    return 1 / 0
def spin():
    while True: pass
"""


@pytest.fixture
def bundle(vm: VM, tmp_path: Path) -> Path:
    folder = tmp_path / "task"
    folder.mkdir()
    (folder / "main.py").write_text(SOURCE)
    target = tmp_path / "x.wtask"
    result = CliRunner().invoke(app, ["compile", str(folder), "-o", str(target)])
    assert result.exit_code == 0, result.output
    return target


def test_run_prints_json(bundle: Path) -> None:
    result = CliRunner().invoke(app, ["run", str(bundle), "--args", '[1, "x"]', "--flavour", "device"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"n": 2, "a": [1, "x"]}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--call", "bad"], 7),
        (["--call", "spin", "--limits", "wall=50"], 7),
        (["--imports", "re"], 7),
        (["--args", "{"], 3),
        (["--args", "1"], 3),
        (["--limits", "wall"], 3),
    ],
)
def test_errors_have_their_exit_code(bundle: Path, options: list[str], code: int) -> None:
    assert CliRunner().invoke(app, ["run", str(bundle), *options]).exit_code == code


def test_vm_reports(vm: VM) -> None:
    result = CliRunner().invoke(app, ["vm", "--json"])
    report = json.loads(result.stdout)
    assert report["libraries"][0]["available"] and "walle.kv.put" in report["host_calls"]
