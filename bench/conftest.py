"""Options of the bench, what a run will take, and the tables at its end."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cases import Cases, compared
from results import RESULTS, Results
from walle_rt.bench import durations, peers, report, roof
from walle_rt.bench.bars import bar_table
from walle_rt.bench.tables import curve_table, table

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache" / "bench"
REPORT = Path(__file__).resolve().parent / "report"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("peers")
    group.addoption("--threads", default="1,2", help="threads given to every engine, comma-separated")
    group.addoption("--batches", default="1,8", help="batches of the compared models, comma-separated")
    group.addoption("--models", default="", help="these models alone, comma-separated")
    group.addoption("--rounds", type=int, default=10, help="quiet interleaved rounds per model")
    group.addoption("--quick", action="store_true", help="three rounds, one thread, batch 1, short curves")
    group.addoption("--report", default=str(REPORT), help="folder of the JSON file and the plots")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RESULTS] = Results()


@pytest.fixture(scope="session")
def cache() -> Path:
    """Where generated models and their converted twins are kept between runs."""
    return CACHE


@pytest.fixture(scope="session")
def cases(request: pytest.FixtureRequest) -> Cases:
    """What was asked for on the command line."""
    return Cases.of(request.config)


@pytest.fixture(scope="session")
def results(request: pytest.FixtureRequest) -> Results:
    """Where figures go that the report shows."""
    return request.config.stash[RESULTS]


@pytest.fixture(scope="session")
def peak_gflops(results: Results) -> float:
    """What one core computes at most in float32, from registers alone."""
    import _bench

    results.roof["peak_gflops"] = _bench.peak_gflops()
    return results.roof["peak_gflops"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if {"model", "model_threads"} <= set(metafunc.fixturenames):
        chosen = compared(Cases.of(metafunc.config))
        ids = [f"{model}-{threads}t" for model, threads in chosen]
        metafunc.parametrize(("model", "model_threads"), chosen, ids=ids)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Say beforehand how long this will take: as long as the last time, or a guess for what is new."""
    known = durations.read(CACHE)
    rounds = Cases.of(session.config).rounds
    text = durations.announcement([item.nodeid for item in session.items], known, rounds)
    session.config.stash[RESULTS].announced = text
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and session.items:
        reporter.write_line(text)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.passed or report.failed:
        durations.add(CACHE, report.nodeid, report.duration, first=report.when == "setup")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    results = config.stash[RESULTS]
    if results.empty:
        return
    write = terminalreporter.line
    for threads in sorted({r.threads for r in results.comparisons}):
        terminalreporter.section(
            f"latency in milliseconds, float32, {threads} thread(s), minimum of interleaved rounds"
        )
        for line in table([r for r in results.comparisons if r.threads == threads]):
            write(line)
    if results.curves:
        terminalreporter.section("how time grows with the input, one thread")
        for line in curve_table(results.curves):
            write(line)
    if results.operators or results.comparisons:
        results.roof.update(roof.measured().as_dict())
    for title, lines in results.sections:
        terminalreporter.section(title)
        for line in lines:
            write(line)
    if results.comparisons:
        terminalreporter.section("how each engine is set")
        for name in peers.NAMES:
            write(f"{name} {peers.version(name)}: {peers.settings(name)}")
    folder = Path(config.getoption("--report"))
    for (file, title), bars in results.bars.items():
        terminalreporter.section(title)
        for line in bar_table(bars):
            write(line)
        write(f"figures: {report.write_table(folder, file, title, [bar.as_dict() for bar in bars])}")
    for (file, title), rows in results.tables.items():
        write(f"figures of {title}: {report.write_table(folder, file, title, rows)}")
    for line in report.write(folder, results.as_dict()):
        write(line)
