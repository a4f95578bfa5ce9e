"""ns per event of the matcher at 100, 1,000 and 10,000 triggers beside other ways to match; memory;
adding; replay.

    pytest bench/stream -s            on an idle machine: every figure has its bar

Figures are CPU time of the fastest round; they are also in pytest-benchmark's JSON (--benchmark-json) as
extra_info.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from stream_peers import Hyperscan, asking_ns, naive_ns, pending_ns, re_ns
from stream_workload import (
    T0,
    Run,
    Stream,
    asked_world,
    asking_texts,
    hot_patterns,
    hot_stream,
    patterns,
    relaxed_texts,
    stream,
    strict_texts,
    world,
)

from walle_rt.stream._triggers import TriggerSet

BARS = {100: 60, 1000: 250, 10_000: 2500}  # ns per event
MEMORY_BAR = 150_000  # bytes at 1,000 triggers
REPLAY_BAR_MS = 50  # 100,000 events through 1,000 triggers
ADD_BAR_US = 200  # one task into 1,000
ROUNDS = 9
HOT_BARS = {1000: 300, 10_000: 2500}  # ns per event, 36 tokens
ASKING = 1000  # triggers that ask for one value each
ASKING_BAR = 1000  # ns per event


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "relaxed"])
@pytest.mark.parametrize("n", BARS)
def test_step(n: int, strict: bool, benchmark: Any) -> None:
    """Ns per event, and what the peers written in Python need."""
    wanted, given = patterns(n), stream()
    run = Run(strict_texts(wanted) if strict else relaxed_texts(wanted), given)
    benchmark.pedantic(run, rounds=ROUNDS, iterations=1, warmup_rounds=1)
    few = min(len(given), 2_000_000 // n)
    peers = {"naive": naive_ns(wanted, given, few), "pending lists": pending_ns(wanted, given)}
    if strict:
        peers["re"] = re_ns(wanted, given, few)
    memory_bytes, nodes = run.triggers.memory_bytes, run.triggers.nodes
    benchmark.extra_info.update(
        ns_per_event=run.best_ns,
        bar=BARS[n],
        memory_bytes=memory_bytes,
        nodes=nodes,
        peers=peers,
    )
    print(
        f"\n{'strict' if strict else 'relaxed'} N={n}: {run.best_ns:.0f} ns/event (bar {BARS[n]}), "
        f"{run.fired / len(given):.2f} firings/event, {nodes} nodes, "
        f"{memory_bytes:,} bytes; "
        f"in plain Python, ns/event: {', '.join(f'{k} {v:,.0f}' for k, v in peers.items())}"
    )
    assert run.best_ns <= BARS[n]
    assert run.best_ns < min(peers.values())
    if n == 1000:
        replay_ms = run.best_ns * len(given) / 1e6
        print(f"replay of 100,000 events through 1,000 triggers: {replay_ms:.1f} ms (bar {REPLAY_BAR_MS})")
        assert memory_bytes <= MEMORY_BAR
        assert replay_ms <= REPLAY_BAR_MS


@pytest.mark.parametrize("n", HOT_BARS)
def test_hot_tokens(n: int, benchmark: Any) -> None:
    """Ns per event where 36 tokens are all there is, so that every event concerns many triggers."""
    wanted, given = hot_patterns(n), hot_stream()
    run = Run(relaxed_texts(wanted), given)
    benchmark.pedantic(run, rounds=ROUNDS, iterations=1, warmup_rounds=1)
    few = min(len(given), 2_000_000 // n)
    peers = {"naive": naive_ns(wanted, given, few), "pending lists": pending_ns(wanted, given)}
    ratio = min(peers.values()) / run.best_ns
    benchmark.extra_info.update(ns_per_event=run.best_ns, bar=HOT_BARS[n], peers=peers, ratio=ratio)
    print(
        f"\nrelaxed on 36 tokens, N={n}: {run.best_ns:.0f} ns/event (bar {HOT_BARS[n]}), "
        f"{run.fired / len(given):.2f} firings/event; {ratio:.0f} times faster than plain Python: "
        f"{', '.join(f'{k} {v:,.0f}' for k, v in peers.items())}"
    )
    assert run.best_ns <= HOT_BARS[n]
    assert ratio > 1


def test_equalities(benchmark: Any) -> None:
    """A thousand triggers on one event, each asking for another item: one of them is looked at."""
    rng = np.random.default_rng(31)
    count = 20_000
    zeros = np.zeros(count, np.int64)
    items = rng.integers(2 * ASKING, size=count)
    given = Stream(zeros, zeros - 1, T0 + np.arange(count) * 1000)  # page 0 is "no page"
    run = Run(asking_texts(ASKING), given, asked_world(), items)
    benchmark.pedantic(run, rounds=ROUNDS, iterations=1, warmup_rounds=1)
    peer = asking_ns(ASKING, items[: count // 10])
    ratio = peer / run.best_ns
    benchmark.extra_info.update(ns_per_event=run.best_ns, bar=ASKING_BAR, peer=peer, ratio=ratio)
    print(
        f"\n{ASKING} equality predicates on one event: {run.best_ns:.0f} ns/event (bar {ASKING_BAR}); "
        f"{ratio:.0f} times faster than asking each in plain Python ({peer:,.0f})"
    )
    assert run.fired == np.count_nonzero(items < ASKING)
    assert run.best_ns <= ASKING_BAR
    assert ratio > 1


@pytest.mark.parametrize("n", BARS)
def test_strict_beside_hyperscan(n: int, benchmark: Any) -> None:
    """The same strict patterns, every end of each reported: equal counts, and ns per event of both."""
    pytest.importorskip(
        "hyperscan", reason="tools/requirements-bench.txt asks for it; there is no wheel here"
    )
    wanted, given = patterns(n), stream()
    unique = [list(p) for p in {tuple(p): None for p in wanted}]
    run = Run(strict_texts(unique, " every"), given)
    benchmark.pedantic(run, rounds=ROUNDS, iterations=1, warmup_rounds=1)
    peer = Hyperscan(unique, given)
    block = min(peer.block_ns() for _ in range(ROUNDS))
    matches = peer.matches
    single = min(peer.event_ns(20_000) for _ in range(3))
    benchmark.extra_info.update(ns_per_event=run.best_ns, hyperscan_block=block, hyperscan_event=single)
    print(
        f"\nstrict, every match, N={len(unique)}: {run.best_ns:.0f} ns/event; "
        f"Hyperscan {block:.0f} over the whole "
        f"stream at once, {single:.0f} event by event from Python; {matches} matches each"
    )
    assert run.fired == matches
    assert run.best_ns < single


def test_add_one_task(benchmark: Any) -> None:
    """Parsing, compiling and adding one relaxed task into 1,000, between two events."""
    triggers = TriggerSet(world())
    for i, text in enumerate(relaxed_texts(patterns(1000))):
        triggers.add(f"t{i}", text)
    fresh = iter(enumerate(relaxed_texts(patterns(200, seed=99))))
    times = []

    def add() -> None:
        i, text = next(fresh)
        start = time.perf_counter()
        triggers.add(f"new{i}", text)
        times.append((time.perf_counter() - start) * 1e6)

    benchmark.pedantic(add, rounds=150, iterations=1, warmup_rounds=10)
    median, worst = float(np.median(times)), float(np.percentile(times, 99))
    benchmark.extra_info.update(median_us=median, p99_us=worst, bar_us=ADD_BAR_US)
    print(f"\nadd one task into 1,000: median {median:.0f} us, p99 {worst:.0f} us (bar {ADD_BAR_US})")
    assert median <= ADD_BAR_US
