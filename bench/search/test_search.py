"""How well the search chooses and predicts, and what it takes: ``pytest bench/search``.

Targets: regret of the fitted table median 1.01, worst 1.08 on shapes it was not fitted on, of float32, of
quantised graphs and of sessions that may multiply in bfloat16; predicted /
measured time of whole models within 0.8 and 1.25; cold search below 100 ms, cached below 2 ms, loading below
20 ms. The times are asserted as they stand, of the least of ten. Regret and predictions depend on what else
the machine does: less is asserted of them, and what was measured is printed.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import walle_rt
from results import Results
from walle_rt import tune
from walle_rt.bench import zoo

SEED = 20_261  # no table was fitted on these shapes
SHAPES = 100


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("group", tune.GROUPS)
def test_regret(group: str, benchmark: Any, request: pytest.FixtureRequest, results: Results) -> None:
    """What is taken against what is best, of everything measured on shapes nobody fitted."""
    rounds = min(request.config.getoption("--rounds"), 3)
    made = list(tune.shapes(SHAPES, SEED, tune.GROUPS[group]))
    measured = benchmark.pedantic(lambda: tune.measure(made, rounds=rounds), rounds=1, iterations=1)
    found = tune.quality(measured)
    line = (
        f"{group:9s} {found.choices:4d} choices: median {found.median_regret:.3f},"
        f" mean {found.mean_regret:.3f}, worst {found.worst_regret:.3f} ({found.worst});"
        f" predicted / measured {found.median_ratio:.2f} ({found.low_ratio:.2f} to {found.high_ratio:.2f})"
    )
    print(f"\nregret of {line}")
    title = "regret: the time of what the table takes over the time of the best"
    results.sections.append((f"{title}, {group}", [line]))
    results.tables.setdefault(("regret", title), []).append({"group": group, **vars(found)})
    benchmark.extra_info.update(vars(found))
    assert found.median_regret <= 1.05, found.worst


@pytest.mark.parametrize("name", zoo.MODELS)
def test_whole_model(name: str, benchmark: Any) -> None:
    """Predicted against measured milliseconds of a run, one thread."""
    made = zoo.build(name)
    feeds = zoo.feeds(made)
    session = walle_rt.load(made).session(threads=1)
    session.run(feeds)
    times = []
    for _ in range(10):
        begin = time.perf_counter()
        session.run(feeds)
        times.append((time.perf_counter() - begin) * 1e3)
    predicted = session.explain().predicted_ms
    ratio = predicted / min(times)
    print(f"\n{name}: predicted {predicted:.2f} ms, measured {min(times):.2f}, ratio {ratio:.2f}")
    benchmark.extra_info.update(predicted_ms=predicted, measured_ms=min(times), ratio=ratio)
    benchmark.pedantic(session.run, args=(feeds,), rounds=3, iterations=1)
    assert 1 / 3 < ratio < 3


@pytest.mark.parametrize("name", ["resnet50", "mobilenet_v2", "bert_base_128"])
def test_search_time(name: str, benchmark: Any, tmp_path: Path) -> None:
    """Cold search, a plan from the cache and loading, without preparing kernels; the least of ten each."""
    made = zoo.build(name)
    feeds = zoo.feeds(made)
    file = tmp_path / "model.walle"
    walle_rt.load(made).save(file)
    times: dict[str, list[float]] = {"load": []}
    for turn in range(10):
        # A folder of its own: a search that is kept; again: a plan from the cache. Loaded anew each time:
        # a model remembers what it searched.
        for folder in (str(tmp_path / str(turn)), str(tmp_path / str(turn)), "off"):
            began = time.perf_counter()
            model = walle_rt.load(file)
            times["load"].append((time.perf_counter() - began) * 1e3)
            session = model.session(threads=1, plan_cache=folder)
            session.run(feeds)
            found = session.explain()
            (source,) = found.plan_sources
            times.setdefault(source, []).append(found.search_ms)
    least = {source: float(np.min(ms)) for source, ms in times.items()}
    print(f"\n{name}: " + ", ".join(f"{source} {ms:.2f} ms" for source, ms in least.items()))
    benchmark.extra_info.update(least)
    benchmark.pedantic(model.session, kwargs={"threads": 1}, rounds=3, iterations=1)
    assert max(least["search"], least["kept"]) < 100
    assert least["cache"] < 2
    assert least["load"] < 20
