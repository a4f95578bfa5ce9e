"""The README's picture: drawn from what sessions say, well-formed, with counts that still hold."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

import walle_rt
from walle_rt.bench import zoo

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_picture", ROOT / "tools" / "run_picture.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.RUNS = 1
    return module


def copies_told(svg: str) -> list[str]:
    return re.findall(r"(\d+) copies, ", svg)


def test_committed_picture_tells_what_plans_are_now(tool: ModuleType) -> None:
    model = walle_rt.load(zoo.build(tool.NETWORK))
    merged, plain = tool.measured(model), tool.measured(model, debug="merge=off")
    drawn = tool.picture(merged, plain, "a <machine> & more")
    root = ElementTree.fromstring(drawn)
    assert root.get("role") == "img" and root.find(f"{SVG}title") is not None
    assert len(root.findall(f"{SVG}rect")) > len(merged.rows)
    # Times differ from run to run, steps with the instruction set; how many copies are left does not.
    assert copies_told(tool.PICTURE.read_text()) == copies_told(drawn), "run python tools/run_picture.py"
    assert int(copies_told(drawn)[1]) < int(copies_told(drawn)[0])
