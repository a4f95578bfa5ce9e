"""Each name in the table of docs/how-to/come-from-onnxruntime.md is there, on both sides."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import walle_rt

PAGE = Path(__file__).parents[2] / "docs/how-to/come-from-onnxruntime.md"
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in PAGE.read_text().splitlines()
    if line.startswith("| `")
]


def there(module: object, name: str) -> bool:
    """Whether a dotted name without its arguments can be reached."""
    at = module
    for part in re.sub(r"\(.*?\)", "", name).split("."):
        if not hasattr(at, part):
            return False
        at = getattr(at, part)
    return True


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("`"))
def test_both_names_are_there(row: tuple[str, ...]) -> None:
    ort = pytest.importorskip("onnxruntime")
    name = row[0].strip("`")
    if name.startswith("SessionOptions."):
        assert hasattr(ort.SessionOptions(), name.partition(".")[2])
    elif name.startswith("RunOptions."):
        assert hasattr(ort.RunOptions(), name.partition(".")[2])
    else:
        assert there(ort, name)
    for ours in re.findall(r"`([^`]+)`", row[1]):
        if ours.startswith("walle ") or ours.endswith("="):
            continue  # commands and options are asked below
        first = ours.removeprefix("walle_rt.").replace("load(path).", "Model.")
        assert there(walle_rt, first), ours


def test_options_are_there() -> None:
    options = {o for row in ROWS for o in re.findall(r"`(\w+)=`", " ".join(row[1:]))}
    known = {*walle_rt.Model.session.__kwdefaults__, *walle_rt.Session.run.__kwdefaults__}
    assert options and options <= known
