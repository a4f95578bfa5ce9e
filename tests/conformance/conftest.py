"""The one run that answers all cases, and the summary per suite."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from pool import run_all
from suite import LISTS, SUITES, listed, suite_of

_verdicts = pytest.StashKey[dict[str, str | None]]()


@pytest.fixture(scope="session")
def verdicts(request: pytest.FixtureRequest) -> Iterator[dict[str, str | None]]:
    """Case id -> None or the reason it does not pass, for every case selected in this run."""
    wanted = [item.callspec.params["case_id"] for item in request.session.items if _is_case(item)]  # type: ignore[attr-defined]
    answers = run_all(wanted, request.config.getoption("--conformance-engine"))
    request.config.stash[_verdicts] = answers
    yield answers
    if request.config.getoption("--update-passing"):
        kept = listed() | {case for case, reason in answers.items() if reason is None}
        for path in set(LISTS.values()):
            head = [line for line in path.read_text().splitlines() if line.startswith("#")]
            mine = sorted(case for case in kept if LISTS[suite_of(case)] == path)
            path.write_text("\n".join([*head, *mine]) + "\n")


def _is_case(item: pytest.Item) -> bool:
    return "case_id" in getattr(getattr(item, "callspec", None), "params", {})


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep every Nth case: --conformance-every."""
    every = config.getoption("--conformance-every")
    cases = [item for item in items if _is_case(item)]
    left_out = set(cases) - set(cases[::every])
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    answers = config.stash.get(_verdicts, None)
    if answers is None:
        return
    terminalreporter.section("ONNX backend suites: passes per suite")
    for suite, (folders, size, floor) in SUITES.items():
        mine = {case: reason for case, reason in answers.items() if case.split("/")[0] in folders}
        passed = sum(reason is None for reason in mine.values())
        terminalreporter.line(f"{suite:9s} {passed:5d} of {size} (ran {len(mine)}, must reach {floor})")
    crashed = sorted(
        case for case, reason in answers.items() if reason and reason.startswith(("CRASH", "HANG"))
    )
    for case in crashed:
        terminalreporter.line(f"{case}: {answers[case]}", red=True)
    fresh = sorted(set(case for case, reason in answers.items() if reason is None) - listed())
    if fresh:
        terminalreporter.line(
            f"{len(fresh)} passing cases are in no list yet; add them with --update-passing:"
        )
        terminalreporter.line("  " + " ".join(fresh[:20]) + (" ..." if len(fresh) > 20 else ""))
