"""What the server stands on has upper bounds, and what it imports is asked for."""

from __future__ import annotations

import ast
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[3]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
OWN = "walle_rt"


def asked_for(extra: str) -> list[Requirement]:
    """Of an extra and of those that it names."""
    out = []
    for text in EXTRAS[extra]:
        found = Requirement(text)
        out += [each for name in found.extras for each in asked_for(name)] if found.name == OWN else [found]
    return out


def below(name: str) -> set[str]:
    """What a package asks for itself, its extras aside."""
    try:
        found = [Requirement(text) for text in requires(name) or []]
    except PackageNotFoundError:
        return set()
    wanted = [each for each in found if each.marker is None or each.marker.evaluate({"extra": ""})]
    return {each.name.lower().replace("_", "-") for each in wanted}


@pytest.mark.parametrize("found", asked_for("cloud"), ids=lambda found: found.name)
def test_each_has_an_upper_bound_and_is_what_is_tested(found: Requirement) -> None:
    assert any(each.operator in ("<", "<=", "==", "~=") for each in found.specifier), found
    assert any(each.operator in (">=", "==", "~=") for each in found.specifier), found
    assert version(found.name) in found.specifier, f"{version(found.name)} is here"


def test_nothing_is_imported_that_nobody_asks_for() -> None:
    """Neither by name, nor by a package that the server asks for with an upper bound."""
    known = {found.name.lower().replace("_", "-") for found in asked_for("cloud")}
    for _ in range(2):  # pydantic-core comes with pydantic, which comes with FastAPI
        for name in sorted(known):
            known |= below(name)
    known |= {"numpy", "psycopg", "cryptography"}  # of walle_rt; of PostgreSQL's users; of [crypto]
    where: dict[str, str] = {}
    for file in sorted((ROOT / "src" / "python" / "walle_rt" / "cloud").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else (
                [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            )  # fmt: skip
            where |= {name.partition(".")[0]: str(file.relative_to(ROOT)) for name in names if name}
    homes = packages_distributions()
    foreign = {name: file for name, file in where.items() if name not in sys.stdlib_module_names}
    assert {"fastapi", "anyio", "dulwich"} <= foreign.keys()
    for name, file in foreign.items():
        homes_of = {home.lower().replace("_", "-") for home in homes.get(name, [name])}
        assert homes_of & (known | {OWN.replace("_", "-")}), f"{name} of {file}"
