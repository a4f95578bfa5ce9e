"""The edits of CPython's source: an anchor that is missing or occurs too often ends the build."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TOOLS = ROOT / "tools" / "vm"

PROGRAM = """
import sys
from edits.engine import apply, because, insert_after, insert_before, insert_between, remove, replace
themes = {
    "first": because("why one", insert_after("a.c", "one\\n", "two\\n"), replace("b.c", "x", "y", 2)),
    "second": [
        *because("why two", insert_before("a.c", "two\\n", "half\\n"), remove("a.c", "old\\n")),
        *because("why three", insert_between("a.c", "head\\n", "middle\\n", "tail\\n")),
    ],
}
sys.stdout.write(apply(themes, sys.argv[1], sys.stdin.read()))
"""


def apply(path: str, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, path],
        input=text,
        cwd=TOOLS,
        capture_output=True,
        text=True,
        check=False,
    )


def test_edits_are_applied_theme_by_theme() -> None:
    done = apply("a.c", "old\none\nhead\ntail\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "one\nhalf\ntwo\nhead\nmiddle\ntail\n", "")


def test_a_file_without_edits_stays_as_it_is() -> None:
    assert apply("c.c", "one\nx\n").stdout == "one\nx\n"


@pytest.mark.parametrize(
    ("path", "text", "found", "expected", "where"),
    [
        ("a.c", "two\n", 0, 1, "first: why one"),
        ("a.c", "one\none\nhead\ntail\n", 2, 1, "first: why one"),
        ("a.c", "one\nhead\ntail\n", 0, 1, "second: why two"),
        ("a.c", "one\nold\nhead\n\ntail\n", 0, 1, "second: why three"),
        ("b.c", "x", 1, 2, "first: why one"),
        ("b.c", "xxx", 3, 2, "first: why one"),
    ],
)
def test_an_anchor_is_there_as_often_as_stated(
    path: str, text: str, found: int, expected: int, where: str
) -> None:
    done = apply(path, text)
    assert done.returncode == 1 and done.stdout == ""
    assert f"{path}: anchor found {found} times, expected {expected}" in done.stderr
    assert f"({where})" in done.stderr


def test_a_file_to_edit_that_the_source_lacks_ends_the_build(tmp_path: Path) -> None:
    (tmp_path / "source" / "Objects").mkdir(parents=True)
    (tmp_path / "source" / "Objects" / "unknown.c").write_text("int x;\n")
    command = [sys.executable, TOOLS / "edit_cpython.py", tmp_path / "source", tmp_path / "target"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "files to edit are missing from the source" in done.stderr and "Python/ceval.c" in done.stderr


def test_every_edit_says_why() -> None:
    code = "from edits import THEMES; print([e for t in THEMES.values() for e in t if len(e.reason) < 15])"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=TOOLS, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


def test_slot_functions_are_found_in_tables_and_guarded() -> None:
    code = """
import sys
from edits.slots import _guard, slot_functions
text = '''static PyObject *
wrap_next(wrapobject *lz)
{
    return 0;
}
static Py_hash_t
wrap_hash(PyObject *self) {
    return 1;
}
static PyTypeObject T = {
    (reprfunc)wrap_repr, /* tp_repr */
    (iternextfunc)wrap_next, /* tp_iternext */
    wrap_dealloc, /* tp_dealloc */
    .tp_hash = (hashfunc)wrap_hash,
};
static PyType_Slot slots[] = {{Py_nb_bool, (void *)wrap_bool}, {Py_tp_new, wrap_new}};
'''
print(sorted(slot_functions(text).items()))
changed, count = _guard(text)
print(count, changed.count("WVM_STACK_LOW"), changed.count("return -1;"), changed.count("wvm_interrupted"))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=TOOLS, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    found, guarded = done.stdout.splitlines()
    assert found == (
        "[('wrap_bool', 'nb_bool'), ('wrap_hash', 'tp_hash'), "
        "('wrap_next', 'tp_iternext'), ('wrap_repr', 'tp_repr')]"
    )
    assert guarded == "2 2 1 1"
