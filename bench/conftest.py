"""Options of the peers bench and the table at its end."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from results import RESULTS
from walle_rt.bench.compare import table


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("peers")
    group.addoption("--threads", type=int, default=1, help="threads given to every engine")
    group.addoption("--rounds", type=int, default=10, help="interleaved rounds per model")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RESULTS] = []


@pytest.fixture(scope="session")
def cache() -> Path:
    """Where generated models and their converted twins are kept between runs."""
    return Path(__file__).resolve().parents[1] / ".cache" / "bench"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    results = config.stash[RESULTS]
    if not results:
        return
    threads = results[0].threads
    terminalreporter.section(
        f"latency in milliseconds, float32, {threads} thread(s), minimum of interleaved rounds"
    )
    for line in table(results):
        terminalreporter.line(line)
