"""Every loop in the VM's C files stands in a table with what bounds it (c_loops.py makes it)."""

from __future__ import annotations

from pathlib import Path

import pytest
from c_loops import INCLUDED, files, products, read_table, scan

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def source() -> Path:
    """The edited source that this checkout's VM was built from."""
    found = ROOT / "build" / "release" / "vm" / "cpython"
    if not found.is_dir():
        pytest.skip(f"no edited source at {found}: the VM was not built in this checkout")
    return found


def test_the_table_has_every_loop(source: Path) -> None:
    found, table = scan(source), read_table()
    assert sorted(set(found) - set(table)) == [], "python tests/python/vm/c_loops.py SOURCE --write"
    assert sorted(set(table) - set(found)) == [], "python tests/python/vm/c_loops.py SOURCE --write"
    wrong = {key: (each.asks, table[key][0]) for key, each in found.items() if each.asks != table[key][0]}
    assert wrong == {}


def test_walks_within_walks_say_why_they_end(source: Path) -> None:
    table = read_table()
    assert [key for key in products(scan(source)) if len(table[key][1]) < 5] == []


def test_all_files_are_looked_at(source: Path) -> None:
    names = files(source)
    assert len(names) > 120 and set(INCLUDED) <= set(names)
    assert {"Python/ceval.c", "Objects/listobject.c", "Modules/_sre/sre.c"} <= set(names)


@pytest.mark.parametrize(
    ("file", "function"),
    [
        ("Objects/setobject.c", "set_merge_lock_held"),
        ("Objects/unicodeobject.c", "unicode_startswith_impl"),
        ("Objects/bytesobject.c", "do_xstrip"),
        ("Objects/listobject.c", "unsafe_tuple_compare"),
        ("Objects/abstract.c", "abstract_issubclass"),
        ("Objects/typeobject.c", "recurse_down_subclasses"),
        ("Objects/codeobject.c", "intern_constants"),
    ],
)
def test_these_ask(source: Path, file: str, function: str) -> None:
    """What outlived its limit once."""
    assert scan(source)[file, function].asks == "itself"
