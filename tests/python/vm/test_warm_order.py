"""The list of functions that the linker puts side by side: a name that is gone would move nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
INSIDE = ROOT / "src" / "cpp" / "vm" / "inside"
CPYTHON = ROOT / "build" / "release" / "vm" / "cpython"  # the edited copy that a build makes
OURS = {"enter", "leave", "finish", "call_inside"}
NAMES = re.findall(r"\.text\.(?:hot\.)?(\w+)", (INSIDE / "warm.ld").read_text().split("{", 2)[2])


def definitions(folder: Path, pattern: str) -> str:
    return "\n".join(path.read_text(errors="replace") for path in sorted(folder.glob(pattern)))


def defined(name: str, text: str) -> bool:
    """A line that begins with the name, or with a type and the name, opens a function's parameters."""
    return re.search(rf"^(?:[\w* ()]+[ *])?{name}\(", text, re.MULTILINE) is not None


def test_each_name_of_ours_is_a_function() -> None:
    ours = [name for name in NAMES if name in OURS or name.startswith("wvm_")]
    text = definitions(INSIDE, "*/*.c")
    assert len(ours) == 9
    assert [name for name in ours if not defined(name, text)] == []


@pytest.mark.skipif(not CPYTHON.is_dir(), reason="no build/release with CPython's edited source")
def test_each_name_of_cpython_is_a_function() -> None:
    theirs = [name for name in NAMES if name not in OURS and not name.startswith("wvm_")]
    text = definitions(CPYTHON / "Python", "*.c") + definitions(CPYTHON / "Objects", "*.c")
    assert len(theirs) >= 15
    assert [name for name in theirs if not defined(name, text)] == []


def test_a_name_that_is_gone_is_seen() -> None:
    assert not defined("wvm_find_function", "PyObject* wvm_found_function(int a) {\n")
    assert defined("wvm_find_function", "PyObject* wvm_find_function(int a) {\n")
