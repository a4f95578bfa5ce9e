"""What `import walle_rt` brings along, and the check that keeps the modules free of circles."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).resolve().parents[2] / "tools" / "check_imports.py"


def check(*source: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, CHECK, *source], capture_output=True, text=True, check=False)


def test_the_first_import_needs_numpy_alone() -> None:
    """Compared with `import numpy`, because a site's .pth files may load anything."""
    script = "import sys, json, {}; print(json.dumps(sorted({{n.partition('.')[0] for n in sys.modules}})))"
    told = [
        subprocess.run(
            [sys.executable, "-c", script.format(name)], capture_output=True, text=True, check=True
        )
        for name in ("numpy", "walle_rt")
    ]
    assert [done.stderr for done in told] == ["", ""]
    numpy, ours = (set(json.loads(done.stdout)) for done in told)
    assert ours - numpy - sys.stdlib_module_names == {"walle_rt"}


def test_this_checkout_has_no_circle() -> None:
    done = check()
    assert done.returncode == 0, done.stdout
    assert done.stderr == ""


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
    done = check(tmp_path)
    assert done.returncode == (1 if said else 0), done.stdout + done.stderr
    assert said in done.stdout
