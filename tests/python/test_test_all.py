"""The long doses go on where they were stopped, begin anew with another tree, and say what is left."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import test_all

test_all.__test__ = False  # pytest need not look into it
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two parts; the second one's last step fails until a file is there."""
    log, ready = tmp_path / "log", tmp_path / "ready"
    steps = {
        "one": (test_all.Step("first", f"echo first >>{log}"),),
        "two": (test_all.Step("second", f"echo second >>{log}"), test_all.Step("third", f"test -e {ready}")),
    }
    monkeypatch.setattr(test_all, "PARTS", steps)
    monkeypatch.setattr(test_all, "tree", lambda: "a tree")
    return tmp_path


def test_a_run_goes_on_where_it_ended(parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = parts / "build" / "state.json"
    assert test_all.run(["one", "two"], state) == 1
    out = capsys.readouterr().out
    assert "left: third" in out and "one" in out and "done" in out
    (parts / "ready").touch()
    assert test_all.run(["one", "two"], state) == 0
    assert (parts / "log").read_text().split() == ["first", "second"]  # each once


def test_another_tree_begins_anew(parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = parts / "build" / "state.json"
    assert test_all.run(["one"], state) == 0
    monkeypatch.setattr(test_all, "tree", lambda: "another")
    assert test_all.run(["one"], state) == 0
    assert (parts / "log").read_text().split() == ["first", "first"]


def test_a_damaged_state_is_no_state(parts: Path) -> None:
    (parts / "state.json").write_text("{")
    assert test_all.passed(parts / "state.json", "a tree") == {}


def test_filters_name_tests_that_are_there() -> None:
    """A program that is given a filter of nothing runs nothing and passes."""
    commands = [step.command for steps in test_all.PARTS.values() for step in steps]
    filters = [word for command in commands for word in re.findall(r"\b([A-Z]\w+\.\w+)\*", command)]
    sources = "\n".join(f.read_text() for f in (ROOT / "tests" / "cpp").rglob("*_test.cc"))
    assert len(filters) == 7
    for suite, test in (name.split(".") for name in filters):
        assert re.search(rf"TEST(_F|_P)?\({suite}, {test}", sources), f"{suite}.{test}* names no test"
