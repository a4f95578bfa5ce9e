"""walle task compile | run | vm."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run_walle

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
    assert "1 modules" in run_walle("task", "compile", folder, "-o", target).stdout
    return target


def test_run_prints_json(bundle: Path) -> None:
    """What the task prints goes to stderr, its result to stdout."""
    command = ["task", "run", bundle, "--args", '[1, "x"]', "--flavour", "device"]
    done = run_walle(*command, says="hello\n")
    assert done.json == {"n": 2, "a": [1, "x"]} and done.stderr == "hello\n"


# A task's own, which the command shows; Python's would tell files of walle_rt.
TRACEBACK = 'Traceback (most recent call last):\n  File "main.py"'
BAD = f"{TRACEBACK}, line 7, in bad\n"


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--call", "bad"], 7, BAD),
        (["--call", "spin", "--limits", "wall=50"], 7, TRACEBACK),
        (["--imports", "re"], 7, 'Traceback (most recent call last):\n  File "<_bootstrap>"'),
        (["--args", "{"], 3, "a JSON list"),
        (["--args", "1"], 3, "put the single argument into brackets"),
        (["--limits", "wall"], 3, "limit 'wall'"),
        (["--limits", "heap=1K,wall=x"], 3, "limit 'wall=x'"),
    ],
)
def test_errors_have_their_exit_code(bundle: Path, options: list[str], code: int, says: str) -> None:
    done = run_walle("task", "run", bundle, *options, code=code, says=says, environment={"COLUMNS": "500"})
    assert done.stdout == ""


def test_run_is_on_the_device_flavour(vm: VM, tmp_path: Path) -> None:
    """What ships has no compiler, so neither has what authors test with."""
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "main.py").write_text("def main():\n    return eval('6 * 7')\n")
    target = tmp_path / "x.wtask"
    run_walle("task", "compile", tmp_path / "task", "-o", target)
    assert run_walle("task", "run", target, "--json", code=7).json["type"] == "RuntimeError"
    assert run_walle("task", "run", target, "--flavour", "full").json == 42


def test_limits_are_a_list_or_repeated(bundle: Path) -> None:
    limits = ["--limits", "heap=32M,wall=50", "--limits", "stack=1M", "--limits", "state=64K"]
    command = ["task", "run", bundle, "--call", "spin", *limits]
    assert run_walle(*command, "--json", code=7).json["limit"] == "wall"


def test_json_of_a_result(bundle: Path) -> None:
    report = run_walle("task", "run", bundle, "--args", "[1]", "--json").json
    assert report["result"] == {"n": 1, "a": [1]} and report["log"] == ["hello"]
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
    done = run_walle("task", "run", bundle, "--json", *options, code=7)
    assert (done.json["exit"], done.json["type"], done.json["limit"]) == (7, type_, limit)
    assert done.stderr == ""
    if type_ == "ZeroDivisionError":
        frame = {"file": "main.py", "line": 7, "function": "bad", "source": "return 1 / 0"}
        assert done.json["traceback"] == [frame]


def test_json_of_a_file_that_is_no_bundle(tmp_path: Path, vm: VM) -> None:
    (tmp_path / "x.wtask").write_bytes(b"not a bundle")
    assert run_walle("task", "run", tmp_path / "x.wtask", "--json", code=7).json["exit"] == 7
    run_walle("task", "run", tmp_path / "absent.wtask", code=5, says="absent.wtask")


def test_state_lasts_between_runs(bundle: Path, tmp_path: Path) -> None:
    command = ["task", "run", bundle, "--call", "keep", "--state", tmp_path / "state"]
    assert [run_walle(*command).json for _ in range(3)] == [1, 2, 3]


def test_compile_reports_files(vm: VM, tmp_path: Path) -> None:
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "main.py").write_text("def main():\n    return 1\n")
    (tmp_path / "task" / "labels.txt").write_text("cat")
    report = run_walle("task", "compile", tmp_path / "task", "-o", tmp_path / "x.wtask", "--json").json
    assert report["modules"] == ["main"] and report["resources"] == {"labels.txt": 3}
    assert report["vm"] == vm.id
    assert report["bytes"] == (tmp_path / "x.wtask").stat().st_size


def test_compile_errors(vm: VM, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("def f(:\n")
    target = ["-o", tmp_path / "x.wtask"]
    run_walle("task", "compile", tmp_path, *target, code=7, says="SyntaxError")
    run_walle("task", "compile", tmp_path / "absent", *target, code=3, says="a folder with at least main.py")
    assert not (tmp_path / "x.wtask").exists()


def test_the_doctor_looks_at_the_vm(vm: VM) -> None:
    report = run_walle("doctor", "--json").json
    for flavour in ("device", "full"):
        row = report["vm"][flavour]
        assert (row["flavour"], row["id"], row["check"]) == (flavour, vm.id, "passed") and row[
            "bytes"
        ] > 1_000_000
    assert report["vm_source"]
    text = run_walle("doctor").stdout
    assert f"Python 3.13.5, id {vm.id}" in text and "vm_source" in text


def test_vm_reports(vm: VM) -> None:
    report = run_walle("task", "vm", "--json").json
    assert report["libraries"][0]["available"] and "walle.kv.put" in report["host_calls"]
    assert "Python 3.13.5" in run_walle("task", "vm").stdout
