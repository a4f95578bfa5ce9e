"""The generated operator page holds every operator of the native table, under its class."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from walle_rt import _core

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "ops_table.py"


def test_page() -> None:
    spec = importlib.util.spec_from_file_location("ops_table", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sections = module.page().split("\n## ")[1:]
    found = {
        s.split(" ", 1)[0].lower(): {row.split(" ")[1] for row in s.splitlines() if row.startswith("| ")}
        for s in sections
    }
    for row in _core.op_table():
        assert row["name"] in found[row["op_class"]], row["name"]
