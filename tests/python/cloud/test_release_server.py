"""What a release costs before it is halted, in the real server (tests/fault/release.py has more seeds)."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest
from cloud.served_fleet import Outcome, Stage, failing, healthy, incident, tried


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    yield Stage(Path(tmp_path_factory.mktemp("stage")) / "server")


def check_wire(outcome: Outcome) -> None:
    """It was the server that answered: places given and refused, plans read anew, and no other status."""
    assert set(outcome.statuses) == {200, 429} and outcome.requests > 100, outcome


@pytest.mark.timeout(600)
def test_a_release_that_fails_in_5_percent_exposes_few(stage: Stage) -> None:
    outcomes = [tried(stage, seed, failing) for seed in range(20)]
    exposed = sorted(outcome.claimed for outcome in outcomes)
    print(f"exposed when halted, 20 seeds: median {statistics.median(exposed)}, {exposed}")
    for outcome in outcomes:
        assert outcome.state == "halted" and "reports are failures" in outcome.reason
        assert 0 <= outcome.claimed - outcome.reported <= 50 + 10  # what may be outstanding, and one second's
        check_wire(outcome)
    assert statistics.median(exposed) <= 250


@pytest.mark.timeout(300)
def test_a_healthy_release_reaches_all(stage: Stage) -> None:
    outcome = tried(stage, 0, healthy)
    assert (outcome.state, outcome.claimed, outcome.reported) == ("gray", 2000, 2000)
    check_wire(outcome)


@pytest.mark.timeout(300)
def test_an_incident_of_the_whole_app_is_not_blamed_on_the_release(stage: Stage) -> None:
    outcome = tried(stage, 1, incident(1))
    assert (outcome.state, outcome.reported) == ("gray", 2000)
    check_wire(outcome)
