"""What `import walle_rt` brings along, and the check that keeps the modules free of circles."""

from __future__ import annotations

import re
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


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = root / "walle_rt" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.mark.parametrize(
    ("importer", "line", "said"),
    [
        ("web/app.py", "from ..service import releases", ""),
        ("service/enrolment.py", "from . import releases", ""),
        (
            "model/tables.py",
            "def f():\n    from ..service.releases import x",
            "model/tables.py:2: model (floor 0) must not import service (floor 2)",
        ),
        ("service/inbox.py", "import walle_rt.cloud.web", "service (floor 2) must not import web (floor 3)"),
        ("sink/store.py", "from ..model import x", "sink (floor 0) must not import model (floor 0)"),
        ("attic.py", "x = 1", "attic.py: lies in no room of the server's table"),
    ],
)
def test_the_server_keeps_its_floors(tmp_path: Path, importer: str, line: str, said: str) -> None:
    rooms = ("model", "service", "sink", "web")
    write(tmp_path, {f"cloud/{room}/__init__.py": "x = 1" for room in rooms})
    others = ("service/releases.py", "web/app.py")
    write(tmp_path, {"__init__.py": "", "cloud/__init__.py": "", **{f"cloud/{o}": "x = 1" for o in others}})
    write(tmp_path, {f"cloud/{importer}": line})
    done = run_command([sys.executable, CHECK, tmp_path], code=1 if said else 0).stdout
    assert said in done and done.count("\n") == (2 if said else 1)


def test_the_page_of_the_house_has_the_servers_rooms() -> None:
    page = (CHECK.parents[1] / "docs" / "concepts" / "house.md").read_text(encoding="utf-8")
    section = page.partition("## The server's rooms")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d) \| `(\w+)/?` \|[^|]+\| ?([\w, ]*)\|$", section, re.MULTILINE)
    code = "import check_imports as c\nfor n, r in c.ROOMS.items(): print(n, r.floor, ','.join(r.uses))"
    table = run_command([sys.executable, "-c", code], folder=CHECK.parent).stdout.splitlines()
    assert [f"{name} {floor} {uses.strip().replace(', ', ',')}" for floor, name, uses in rows] == table


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
