"""The IPV feature: native, from Python, and its aggregates in plain Python.

pytest bench/stream -s
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from _bench import ipv_ns

from walle_rt.stream import Catalog, ColumnType, EventKind
from walle_rt.stream._ipv import IpvEncoder
from walle_rt.stream._log import EventLog

T0 = 1_700_000_000_000_000


def test_ipv(tmp_path: Path) -> None:
    c = (
        Catalog()
        .declare("page_scroll", EventKind.PAGE_SCROLL, {"depth": ColumnType.FLOAT})
        .declare("exposure", EventKind.EXPOSURE, {"item": ColumnType.INT})
        .declare("click", EventKind.CLICK, {"item": ColumnType.INT})
        .page("item")
    )
    rng = np.random.default_rng(0)
    with EventLog(tmp_path, c) as log:
        log.append("page_enter", "item", ts=T0)
        for i in range(114):
            name = ("page_scroll", "exposure", "exposure", "click")[int(rng.integers(4))]
            contents = (
                {"depth": float(rng.random())} if name == "page_scroll" else {"item": int(rng.integers(30))}
            )
            log.append(name, "item", contents, ts=T0 + i * 250_000)
        log.append("page_exit", "item", ts=T0 + 114 * 250_000)
        encoder = IpvEncoder.seeded()
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
            (
                sorted({i: items.count(i) for i in items}.items(), key=lambda x: -x[1]),
                max(depth),
                sum(depth),
                clicks,
            )
            plain = min(plain, time.perf_counter() - start)
    native = min(ipv_ns(str(tmp_path), 1, encoder.weights, encoder.bias, 200) for _ in range(20))
    print(
        "\n"
        f"IPV, 116 events: native feature and code {native / 1000:.1f} us (target 5), "
        f"from Python {best * 1e6:.0f} us (target 50), "
        f"aggregates alone in plain Python {plain * 1e6:.0f} us"
    )
    assert native <= 5000
    assert best <= 50e-6
