"""docs/reference/testing.md: each promise has its tests, and each stage and part is named."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import test_all

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "testing.md").read_text()


def rows(text: str, heading: str) -> list[list[str]]:
    """Cells of the table below a heading."""
    part = re.split(r"^## ", text.split(f"## {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    table = [line.strip("|").split(" | ") for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in table[1:]]


def test_each_claim_of_the_readme_that_works_has_tests() -> None:
    claims = [
        claim for claim, state in rows((ROOT / "README.md").read_text(), "What works") if state != "to come"
    ]
    promised = [claim for claim, _ in rows(PAGE, "What works, and its tests")]
    assert len(claims) == len(promised) >= 9
    for claim, named in zip(claims, promised, strict=True):
        assert claim.startswith(named), (claim, named)


def test_what_it_names_is_there() -> None:
    places = re.findall(r"`((?:tests|tools)/[\w./]+)`", PAGE)
    assert len(places) > 30
    assert [place for place in places if not (ROOT / place).exists()] == []
    for claim, tests in rows(PAGE, "What works, and its tests"):
        assert re.findall(r"`(tests/[\w./]+)`", tests), claim


def test_it_names_every_long_dose() -> None:
    listed = {(part.strip("`"), promise) for part, promise, _ in rows(PAGE, "The long doses")}
    assert listed == {(part, step.promise) for part, steps in test_all.PARTS.items() for step in steps}


def test_the_stages_that_are_kept_are_the_makefile_s() -> None:
    """A stage without its usual minutes could grow unseen."""
    named = re.findall(r"\$\(call step,(.+)\)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = ["set-up", *named]
    named = [name.replace("$(comma)", ",").replace("$(FUZZ_SECONDS)", "20") for name in named]
    kept = json.loads((ROOT / "tools" / "stages.json").read_text())["minutes"]
    assert [stage for stage in kept if stage not in named] == []
    assert len(kept) >= 10
