# ruff: noqa: E501
"""ns per event of the matcher beside other ways to match, ns per append, hot adding, replay, and the IPV feature.

    pytest bench/stream -s

Matching and the IPV feature are measured in CPU time; appends by the wall clock, because their tail is what counts.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from walle_rt.stream import Catalog, EventKind, EventLog, FieldType, IpvEncoder, TriggerSet

EVENTS, PAGES = 8, 25
T0 = 1_700_000_000_000_000


def world() -> Catalog:
    c = Catalog()
    for e in range(EVENTS):
        c.declare(f"e{e}")
    return c.page(*[f"p{p}" for p in range(PAGES)])


def workload(n: int, strict: bool, seed: int = 7) -> list[list[tuple[int, int]]]:
    """n patterns of 2 to 4 steps over 200 tokens."""
    rng = np.random.default_rng(seed)
    return [
        [(int(rng.integers(EVENTS)), int(rng.integers(PAGES))) for _ in range(int(rng.integers(2, 5)))]
        for _ in range(n)
    ]


def texts(patterns: list[list[tuple[int, int]]], strict: bool) -> list[str]:
    rng = np.random.default_rng(11)
    out = []
    for p in patterns:
        text = ""
        for i, (e, page) in enumerate(p):
            if i and strict:
                text += " > "
            elif i:
                if rng.random() < 0.2:
                    text += f" !e{(e + 1 + rng.integers(EVENTS - 1)) % EVENTS}@p{rng.integers(PAGES)}"
                text += " ~(1m) " if rng.random() < 0.1 else " ~ "
            text += f"e{e}@p{page}"
        out.append(text if strict else text + f" within {int(rng.integers(5, 120))}s")
    return out


def stream(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    events, pages = rng.integers(EVENTS, size=n), rng.integers(PAGES, size=n)
    return events, pages, T0 + np.cumsum(rng.integers(0, 2_000_000, size=n))


def naive_ns(patterns: list[list[tuple[int, int]]], events: np.ndarray, pages: np.ndarray) -> float:
    """Every pattern looks at every event: one pending position each."""
    at = [0] * len(patterns)
    start = time.process_time()
    for key in zip(events.tolist(), pages.tolist(), strict=True):
        for i, p in enumerate(patterns):
            if p[at[i]] == key:
                at[i] = (at[i] + 1) % len(p)
    return (time.process_time() - start) * 1e9 / len(events)


def pending_ns(patterns: list[list[tuple[int, int]]], events: np.ndarray, pages: np.ndarray) -> float:
    """Linear pending lists: what waits for a token is scanned when it comes."""
    waiting: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for i, p in enumerate(patterns):
        waiting[p[0]].append((i, 0))
    start = time.process_time()
    for key in zip(events.tolist(), pages.tolist(), strict=True):
        moved = waiting.get(key)
        if not moved:
            continue
        waiting[key] = []
        for i, step in moved:
            nxt = (step + 1) % len(patterns[i])
            waiting[patterns[i][nxt]].append((i, nxt))
    return (time.process_time() - start) * 1e9 / len(events)


def re_ns(patterns: list[list[tuple[int, int]]], events: np.ndarray, pages: np.ndarray) -> float:
    """Strict patterns as one regular expression over a string of tokens."""
    token = [[chr(0x100 + e * PAGES + p) for p in range(PAGES)] for e in range(EVENTS)]
    joined = re.compile("|".join("".join(token[e][p] for e, p in pattern) for pattern in patterns))
    text = "".join(token[e][p] for e, p in zip(events.tolist(), pages.tolist(), strict=True))
    start = time.process_time()
    sum(1 for _ in joined.finditer(text))
    return (time.process_time() - start) * 1e9 / len(events)


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "relaxed"])
@pytest.mark.parametrize(("n", "limit"), [(100, 60), (1000, 250), (10_000, 2500)])
def test_step(n: int, limit: int, strict: bool) -> None:
    c = world()
    patterns = workload(n, strict)
    triggers = TriggerSet(c)
    for i, text in enumerate(texts(patterns, strict)):
        triggers.add(f"t{i}", text)
    events, pages, ts = stream(100_000)
    ids = (events + 7).astype(np.uint16), (pages + 1).astype(np.uint16)
    span = int(ts[-1] - ts[0]) + 1
    best, fired = float("inf"), 0
    for k in range(5):
        fired, seconds = triggers.run(*ids, ts + k * span)
        best = min(best, seconds * 1e9 / len(ts))
    few = min(len(events), 2_000_000 // n)
    others = f"naive {naive_ns(patterns, events[:few], pages[:few]):.0f}, pending lists {pending_ns(patterns, events, pages):.0f}"
    if strict:
        others += f", re {re_ns(patterns, events[:few], pages[:few]):.0f}"
    try:
        import hyperscan  # noqa: F401

        others += ", hyperscan installed but not part of this comparison"
    except ImportError:
        others += ", hyperscan not installed"
    s = triggers.stats
    print(
        f"\n{'strict' if strict else 'relaxed'} N={n}: {best:.0f} ns/event (target {limit}), {fired / len(ts):.2f} firings/event, "
        f"{s['nodes']} nodes, {s['memory_bytes'] / 1000:.0f} KB; in plain Python, ns/event: {others}"
    )
    if n == 1000:
        print(f"replay of 100,000 events through 1,000 triggers: {best * len(ts) / 1e6:.1f} ms (target 50)")
        assert s["memory_bytes"] <= 150_000


def test_hot_add() -> None:
    c = world()
    triggers = TriggerSet(c)
    for i, text in enumerate(texts(workload(1000, False), False)):
        triggers.add(f"t{i}", text)
    times = []
    for i, text in enumerate(texts(workload(50, False, seed=99), False)):
        start = time.perf_counter()
        triggers.add(f"new{i}", text)
        times.append(time.perf_counter() - start)
    print(f"\nadd one task into 1,000: median {np.median(times) * 1e6:.0f} us, parsing included (target 200)")
    assert np.median(times) < 200e-6


def test_append(tmp_path: Path) -> None:
    c = Catalog().declare("click", EventKind.CLICK, {"item": FieldType.INT, "text": FieldType.TEXT}).page("home")
    with EventLog(tmp_path, c, journal_bytes=16 << 20) as log:
        log._core.append_ns("click", "home", {"item": 1, "text": "x" * 140}, 20_000)
        ns = np.array(log._core.append_ns("click", "home", {"item": 1, "text": "x" * 140}, 40_000))
    print(
        f"\nappend of a 200 B event: p50 {np.percentile(ns, 50):.0f} ns (target 150), p99 {np.percentile(ns, 99):.0f} ns (target 2000)"
    )


def test_ipv(tmp_path: Path) -> None:
    c = (
        Catalog()
        .declare("page_scroll", EventKind.PAGE_SCROLL, {"depth": FieldType.FLOAT})
        .declare("exposure", EventKind.EXPOSURE, {"item": FieldType.INT})
        .declare("click", EventKind.CLICK, {"item": FieldType.INT})
        .page("item")
    )
    rng = np.random.default_rng(0)
    with EventLog(tmp_path, c) as log:
        log.append("page_enter", "item", ts=T0)
        for i in range(114):
            name = ("page_scroll", "exposure", "exposure", "click")[int(rng.integers(4))]
            contents = {"depth": float(rng.random())} if name == "page_scroll" else {"item": int(rng.integers(30))}
            log.append(name, "item", contents, ts=T0 + i * 250_000)
        log.append("page_exit", "item", ts=T0 + 114 * 250_000)
        encoder = IpvEncoder.seeded()
        native = min(encoder(log, 1, repeat=200).native_ns for _ in range(20))
        best = float("inf")
        for _ in range(200):
            start = time.perf_counter()
            encoder(log, 1)
            best = min(best, time.perf_counter() - start)
        rows = [e for e in log.read(1)]
        plain = float("inf")
        for _ in range(50):
            start = time.perf_counter()
            depth = [e.contents["depth"] for e in rows if e.event == "page_scroll"]
            items = [e.contents["item"] for e in rows if e.event == "exposure"]
            clicks = sum(e.event == "click" for e in rows)
            bins = [[0.0] * 64 for _ in range(4)]
            for e in rows:
                bins[len(e.event) % 4][min(63, (e.ts - T0) * 64 // (114 * 250_000))] += 1
            sorted({i: items.count(i) for i in items}.items(), key=lambda x: -x[1]), max(depth), sum(depth), clicks
            plain = min(plain, time.perf_counter() - start)
    print(
        f"\nIPV, 116 events: native feature and code {native / 1000:.1f} us (target 5), from Python {best * 1e6:.0f} us (target 50), "
        f"aggregates alone in plain Python {plain * 1e6:.0f} us"
    )
