"""A small dose of tests/fault/flood.py: orders and reports go through while a server is flooded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.fault import flood

pytestmark = pytest.mark.serial

SECONDS = 3.0
SLACK = (
    4  # the machine is shared with the flood and with who measures; the long dose holds the bars as they are
)


def test_a_flood(tmp_path: Path) -> None:
    found = flood.flood(tmp_path, SECONDS, ["logins", "slow_bodies", "huge_heads"])
    print(found.table())
    assert found.holds(SLACK)
    assert len(found.reports) > 20 * SECONDS and len(found.signed) > 2 * SECONDS
    attack = {
        (kind, status): int(count) for kind, status, count in re.findall(r"(.+): (.+): (\d+)", found.attack)
    }
    assert attack["login", "429"] > attack["login", "401"] > 0, "there was a flood"
    assert attack["slow body", "held to the end"] == flood.SLOW_BODIES
    assert attack["huge head", "closed"] > 10 and ("huge head", "200") not in attack
