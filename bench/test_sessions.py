"""Two cores: one session with and without a busy neighbour, and up to eight sessions at once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cases import Cases
from results import Results
from walle_rt.bench import load, zoo
from walle_rt.bench.peers import Unavailable, prepare
from walle_rt.bench.rounds import measure
from walle_rt.bench.sessions import Throughput, session_table, together

SECONDS = 1.5
COUNTS = (1, 2, 3, 4, 5, 6, 7, 8)
ENGINES = ("walle", "onnxruntime")
BUSY_MODELS = ("mobilenet_v1", "mobilenet_v3_small", "resnet18", "lstm_speech")
BUSY_ENGINES = ("walle", "onnxruntime", "openvino", "MNN", "ncnn")
_SPIN = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); print(flush=True)\nwhile True: pass"


@contextmanager
def spinning() -> Iterator[None]:
    """A process that does nothing but keep the last core busy."""
    core = max(os.sched_getaffinity(0))
    with subprocess.Popen([sys.executable, "-c", _SPIN, str(core)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


@pytest.mark.timeout(600)
def test_a_busy_core(cache: Path, cases: Cases, results: Results) -> None:
    """Printed, not held: how far two threads help, and what is left of it beside a busy core."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("this machine has one core")
    lines = [f"{'model':20s}{'engine':14s}{'1t':>9s}{'2t':>9s}{'1t busy':>9s}{'2t busy':>9s}"]
    for model in BUSY_MODELS[:1] if cases.quick else BUSY_MODELS:
        file = zoo.path(model, cache)
        feeds = zoo.inputs(model, file)
        runs = {}
        for engine in BUSY_ENGINES:
            try:
                runs |= {f"{engine} {t}": prepare(engine, file, feeds, t, cache) for t in (1, 2)}
            except Unavailable as reason:
                lines.append(f"{model:20s}{engine:14s}  {reason}")
        quiet = measure(runs, cases.rounds)
        with spinning():
            busy = measure(runs, cases.rounds, snapshot=load.unwatched)
        for engine in dict.fromkeys(name.split()[0] for name in runs):
            times = [table.median_ms(f"{engine} {t}") for table in (quiet, busy) for t in (1, 2)]
            lines.append(f"{model:20s}{engine:14s}" + "".join(f"{ms:9.3f}" for ms in times))
            results.two_threads.append({"model": model, "engine": engine, "milliseconds": times})
    results.sections.append(("two threads, and a core that is busy with other work; median ms", lines))


@pytest.mark.timeout(600)
def test_sessions_share(cache: Path, cases: Cases, results: Results) -> None:
    """Each session in a thread of its own; ours starve nobody."""
    file = zoo.path("mobilenet_v2", cache)
    feeds = zoo.inputs("mobilenet_v2", file)
    found = []
    for threads in (1, 2):
        for engine in ENGINES:
            try:
                runs = [prepare(engine, file, feeds, threads, cache) for _ in range(max(COUNTS))]
            except Unavailable:
                continue
            for count in COUNTS[::3] if cases.quick else COUNTS:
                done, took = together(runs[:count], SECONDS)
                found.append(Throughput(engine, threads, tuple(done), took))
    results.sessions += [t.as_dict() for t in found]
    title = "sessions of MobileNetV2 at once: runs per second, of the best number, slowest over fastest"
    results.sections.append((title, session_table(found)))
    starved = [t for t in found if t.engine == "walle" and min(t.runs) == 0]
    assert not starved, f"sessions that did not run at all: {starved}"
