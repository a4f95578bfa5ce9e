"""What `import walle_rt` brings along, and the check that keeps the modules free of circles."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from commands import run_command, run_python

CHECK = Path(__file__).resolve().parents[2] / "tools" / "check_imports.py"


def test_the_first_import_needs_numpy_alone() -> None:
    """Compared with `import numpy`, because a site's .pth files may load anything."""
    script = "import sys, json, {}; print(json.dumps(sorted({{n.partition('.')[0] for n in sys.modules}})))"
    numpy, ours = (set(run_python(script.format(name)).json) for name in ("numpy", "walle_rt"))
    assert ours - numpy - sys.stdlib_module_names == {"walle_rt"}


def test_this_checkout_has_no_circle() -> None:
    run_command([sys.executable, CHECK])


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("from .second import b", "from .first import a", "circle of walle_rt.first, walle_rt.second"),
        ("def f():\n    from . import second", "from .first import f", "circle of"),
        ("import walle_rt.second", "from walle_rt import first", "circle of"),
        ("from .second import b", "def f():\n    import torch\nb = 1", ""),
        (
            "from .second import b",
            "import torch\nb = 1",
            "second.py:1: `import walle_rt` must not need torch",
        ),
        ("from __future__ import annotations\nfrom .second import b", "b = 1", ""),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .second import b",
            "from .first import a",
            "",
        ),
    ],
)
def test_what_the_check_finds(tmp_path: Path, first: str, second: str, said: str) -> None:
    package = tmp_path / "walle_rt"
    package.mkdir()
    (package / "__init__.py").write_text("from .first import a")
    (package / "first.py").write_text(first)
    (package / "second.py").write_text(second)
    assert said in run_command([sys.executable, CHECK, tmp_path], code=1 if said else 0).stdout
