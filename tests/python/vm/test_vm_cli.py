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
def keep():
    from walle import kv
    kv.put('n', kv.get('n', 0) + 1)
    return kv.get('n')
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


def test_limits_are_a_list_or_repeated(bundle: Path) -> None:
    options = [
        "--call",
        "spin",
        "--limits",
        "heap=32M,wall=50",
        "--limits",
        "stack=1M",
        "--limits",
        "state=64K",
    ]
    assert CliRunner().invoke(app, ["run", str(bundle), *options]).exit_code == 7
    assert CliRunner().invoke(app, ["run", str(bundle), "--limits", "heap=1K,wall=x"]).exit_code == 3


def test_json_of_a_result(bundle: Path) -> None:
    result = CliRunner().invoke(app, ["run", str(bundle), "--args", "[1]", "--json"])
    report = json.loads(result.stdout)
    assert result.exit_code == 0 and report["result"] == {"n": 1, "a": [1]} and report["log"] == ["hello"]
    assert report["stats"]["calls"] == 1 and report["stats"]["heap_peak"] > 0 and report["seconds"] > 0


@pytest.mark.parametrize(
    ("options", "type_", "limit"),
    [
        (["--call", "bad"], "ZeroDivisionError", ""),
        (["--call", "spin", "--limits", "wall=50"], "LimitExceeded", "wall"),
        (["--imports", "re"], "ImportError", "import"),
        (["--call", "keep", "--host-calls", "walle.log"], "PermissionError", "host_call"),
        (["--call", "absent"], "AttributeError", ""),
    ],
)
def test_json_of_a_failure(bundle: Path, options: list[str], type_: str, limit: str) -> None:
    result = CliRunner().invoke(app, ["run", str(bundle), "--json", *options])
    report = json.loads(result.stdout)
    assert result.exit_code == report["exit"] == 7
    assert (report["type"], report["limit"]) == (type_, limit)
    if type_ == "ZeroDivisionError":
        assert report["traceback"] == [{"file": "main.py", "line": 7, "function": "bad"}]


def test_json_of_a_file_that_is_no_bundle(tmp_path: Path, vm: VM) -> None:
    (tmp_path / "x.wtask").write_bytes(b"not a bundle")
    result = CliRunner().invoke(app, ["run", str(tmp_path / "x.wtask"), "--json"])
    assert result.exit_code == 7 and json.loads(result.stdout)["exit"] == 7
    assert CliRunner().invoke(app, ["run", str(tmp_path / "absent.wtask")]).exit_code == 5


def test_state_lasts_between_runs(bundle: Path, tmp_path: Path) -> None:
    command = ["run", str(bundle), "--call", "keep", "--state", str(tmp_path / "state")]
    assert [json.loads(CliRunner().invoke(app, command).stdout) for _ in range(3)] == [1, 2, 3]


def test_compile_reports_files(vm: VM, tmp_path: Path) -> None:
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "main.py").write_text("def main():\n    return 1\n")
    (tmp_path / "task" / "labels.txt").write_text("cat")
    result = CliRunner().invoke(
        app, ["compile", str(tmp_path / "task"), "-o", str(tmp_path / "x.wtask"), "--json"]
    )
    report = json.loads(result.stdout)
    assert (
        report["modules"] == ["main"] and report["resources"] == {"labels.txt": 3} and report["vm"] == vm.id
    )
    assert report["bytes"] == (tmp_path / "x.wtask").stat().st_size


def test_compile_errors(vm: VM, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("def f(:\n")
    target = ["-o", str(tmp_path / "x.wtask")]
    assert CliRunner().invoke(app, ["compile", str(tmp_path), *target]).exit_code == 7
    assert CliRunner().invoke(app, ["compile", str(tmp_path / "absent"), *target]).exit_code == 3
    assert not (tmp_path / "x.wtask").exists()


def test_the_doctor_looks_at_the_vm(vm: VM) -> None:
    from walle_rt.cli.app import build

    result = CliRunner().invoke(build(), ["doctor", "--json"])
    report = json.loads(result.stdout)
    assert result.exit_code == 0, result.output
    for flavour in ("device", "full"):
        row = report["vm"][flavour]
        assert (row["flavour"], row["id"], row["check"]) == (flavour, vm.id, "passed") and row[
            "bytes"
        ] > 1_000_000
    assert report["vm_source"]
    text = CliRunner().invoke(build(), ["doctor"]).output
    assert f"Python 3.13.5, id {vm.id}" in text and "vm_source" in text


def test_vm_reports(vm: VM) -> None:
    result = CliRunner().invoke(app, ["vm", "--json"])
    report = json.loads(result.stdout)
    assert report["libraries"][0]["available"] and "walle.kv.put" in report["host_calls"]
