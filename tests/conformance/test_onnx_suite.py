"""The ONNX backend suite: listed cases must pass, thresholds per suite must hold, the list only grows."""

from __future__ import annotations

import pytest
from suite import SUITES, cases, fetch, listed

# The first case waits for the run of all cases.
pytestmark = pytest.mark.timeout(1200)

fetch()
CASES = cases()


@pytest.mark.parametrize("case_id", [case.id for case in CASES])
def test_case(case_id: str, verdicts: dict[str, str | None], request: pytest.FixtureRequest) -> None:
    reason = verdicts[case_id]
    if reason is None:
        return
    # A crash is never acceptable, listed or not.
    if case_id in listed() or reason.startswith(("CRASH", "HANG")):
        pytest.fail(reason, pytrace=False)
    pytest.xfail(" ".join(reason.split())[:160])


@pytest.mark.parametrize("suite", list(SUITES))
def test_threshold(suite: str, verdicts: dict[str, str | None]) -> None:
    folders, size, floor = SUITES[suite]
    mine = [reason for case, reason in verdicts.items() if case.split("/")[0] in folders]
    if len(mine) < size:
        pytest.skip(f"only {len(mine)} of {size} {suite} cases were selected for this run")
    assert sum(reason is None for reason in mine) >= floor


def test_suite_is_complete() -> None:
    for suite, (_, size, _) in SUITES.items():
        assert sum(case.suite == suite for case in CASES) == size


def test_list_names_known_cases() -> None:
    assert listed() <= {case.id for case in CASES}
