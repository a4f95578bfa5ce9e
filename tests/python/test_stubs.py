"""The stub file names exactly what the native module has:
a missing line would be a hole in what mypy checks.
"""

from __future__ import annotations

import ast
from pathlib import Path

import walle_rt
from walle_rt import _core

STUB = Path(walle_rt.__file__).with_name("_core.pyi")


def public(names: list[str]) -> set[str]:
    return {n for n in names if not n.startswith("_")}


def test_module_and_classes() -> None:
    tree = ast.parse(STUB.read_text())
    classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
    functions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    submodules = {
        n.target.id for n in tree.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
    }
    assert public([*classes, *functions, *submodules]) == public(dir(_core))
    for name, node in classes.items():
        written = [n.name for n in node.body if isinstance(n, ast.FunctionDef)]
        written += [
            t.id for n in node.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)
        ]
        written += [
            n.target.id for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
        ]
        assert public(written) == public(list(vars(getattr(_core, name)))), name
