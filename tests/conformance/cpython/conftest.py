"""The modules under inside/ run in isolates: pytest neither collects them nor adds their folder."""

from __future__ import annotations

from collections import Counter

import pytest

collect_ignore = ["inside"]
_counts = pytest.StashKey[Counter[str]]()


@pytest.fixture(scope="session")
def counts(request: pytest.FixtureRequest) -> Counter[str]:
    """What became of CPython's tests, for the summary."""
    return request.config.stash.setdefault(_counts, Counter())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    of = config.stash.get(_counts, None)
    if of is None:
        return
    terminalreporter.section("CPython's own tests in isolates")
    terminalreporter.line(
        f"{of['passed']} passed, {of['skipped']} skipped by the tests themselves or for what a task has not, "
        f"{of['failed']} outside the list of those that must pass"
    )
