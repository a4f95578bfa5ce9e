"""What is public of walle_rt: the lists of docs/reference/python.md, and nothing beside them."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/python/walle_rt"
PAGE = ROOT / "docs/reference/python.md"
INTERNAL = ("bench", "cli", "cloud", "convert.onnx", "demo", "tune")
LISTED = ("walle_rt.bench.zoo", "walle_rt.cloud")  # all the same


def listed() -> dict[str, list[str]]:
    """Names by module, as the page has them."""
    rows = re.findall(r"^\| `(walle_rt[.\w]*)` \| (`.*`) \|$", PAGE.read_text(), re.MULTILINE)
    return {module: re.findall(r"`(\w+)`", names) for module, names in rows}


def exported() -> dict[str, list[str]]:
    """Names by module, as each says them of itself."""
    found = {}
    for file in PACKAGE.rglob("*.py"):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        module = ".".join(("walle_rt", *parts)).removesuffix(".__init__")
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                found[module] = ast.literal_eval(node.value)
    return found


def internal(module: str) -> bool:
    inside = module.removeprefix("walle_rt.")
    return any(inside == each or inside.startswith(f"{each}.") for each in INTERNAL)


def test_the_page_lists_what_modules_export() -> None:
    found = exported()
    assert listed() == {module: found[module] for module in found if module in LISTED or not internal(module)}


def test_what_begins_with_an_underscore_is_not_public() -> None:
    assert not [module for module in listed() if "._" in module]
    names = [name for names in listed().values() for name in names]
    assert [name for name in names if name.startswith("_")] == ["__version__"]


@pytest.mark.parametrize("module", listed())
def test_every_listed_name_is_there_and_documented(module: str) -> None:
    loaded = import_module(module)
    for name in listed()[module]:
        value = getattr(loaded, name)
        assert isinstance(value, str | int) or value.__doc__, f"{module}.{name}"


def test_the_reference_shows_nothing_else() -> None:
    """What `:::` takes into a page of the reference is listed, or a module that is."""
    public = {module: names for module, names in listed().items()}
    pages = (ROOT / "docs").rglob("*.md")
    shown = [name for page in pages for name in re.findall(r"^::: (\S+)", page.read_text(), re.MULTILINE)]
    assert len(shown) > 30
    for name in shown:
        module, _, last = name.rpartition(".")
        assert name in public or last in public.get(module, []), name
