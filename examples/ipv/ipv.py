"""The item page view feature: from a page's raw events to 332 floats and to a code of 128 bytes,
with the sizes.

    python examples/ipv/ipv.py                 one visit of 116 events, generated
    WALLE_TEST_DATA=folder python examples/ipv/ipv.py
                                               also pages of open_bandit and clickstream, if they lie there

Events go into the durable log; the trigger says when a page is complete; the feature is computed natively;
our engine runs the encoder network, two dense layers fitted to the pages themselves; the gate lets the code
out, and nothing else.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import sys
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from walle_rt import Model
from walle_rt.stream import (
    Batch,
    Catalog,
    ColumnType,
    EventKind,
    FeatureField,
    FeaturePolicy,
    Graph,
    Sensitivity,
)
from walle_rt.stream._egress import EgressGate
from walle_rt.stream._ipv import IPV_CODE, IPV_FLOATS, ipv_feature, ipv_network
from walle_rt.stream._log import EventLog
from walle_rt.stream._triggers import TriggerSet

START = 1_700_000_000_000_000
HIDDEN = 64
Visit = list[tuple[str, int, dict[str, int | float | str]]]  # event, ts in us, contents


def catalog() -> Catalog:
    shown = {
        "item": ColumnType.INT,
        "title": ColumnType.TEXT,
        "position": ColumnType.INT,
        "price": ColumnType.FLOAT,
    }
    return (
        Catalog()
        .declare("page_scroll", EventKind.PAGE_SCROLL, {"depth": ColumnType.FLOAT, "speed": ColumnType.FLOAT})
        .declare("exposure", EventKind.EXPOSURE, shown)
        .declare("click", EventKind.CLICK, {"item": ColumnType.INT, "widget": ColumnType.TEXT})
        .page("item")
    )


def generated() -> Visit:
    """One visit of 116 events with its page_enter and page_exit, from a fixed seed."""
    rng = np.random.default_rng(4)
    out: Visit = []
    for i in range(114):
        ts, kind = START + i * 270_000, rng.random()
        if kind < 0.4:
            out.append(("page_scroll", ts, {"depth": float(rng.random()), "speed": float(rng.random())}))
        elif kind < 0.9:
            item = int(rng.integers(40))
            title = f"article {item} of the recommendations below"
            out.append(("exposure", ts, {"item": item, "title": title, "position": i, "price": item * 1.5}))
        else:
            out.append(("click", ts, {"item": int(rng.integers(40)), "widget": "recommendation"}))
    return out


def of_open_bandit(data: Path) -> Iterator[Visit]:
    """Impressions and clicks of one user group within half an hour, as one page."""
    pages: dict[tuple[str, int], Visit] = defaultdict(list)
    with gzip.open(data / "open_bandit" / "random_men.csv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            ts = int(datetime.fromisoformat(row["timestamp"]).timestamp() * 1e6)
            page = pages[row["user_feature_0"], ts // 1_800_000_000]
            item = int(row["item_id"])
            contents: dict[str, int | float | str] = {"item": item, "position": int(row["position"])}
            page.append(("exposure", ts, contents | {"title": row["user_feature_1"]}))
            if row["click"] == "1":
                page.append(("click", ts, {"item": item, "widget": "recommendation"}))
    yield from (sorted(p, key=lambda e: e[1]) for p in pages.values() if len(p) >= 12)


def of_clickstream(data: Path) -> Iterator[Visit]:
    """A session's item views as exposures, every repeated one as a click, one page per session."""
    pages: dict[str, Visit] = defaultdict(list)
    with (data / "clickstream" / "sample_train-item-views.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter=";"):
            page, item = pages[row["session_id"]], int(row["item_id"])
            day = int(datetime.fromisoformat(row["eventdate"] + "T00:00:00+00:00").timestamp())
            seen = any(e[2]["item"] == item for e in page)
            contents: dict[str, int | float | str] = {"item": item}
            page.append(
                ("click" if seen else "exposure", day * 1_000_000 + int(row["timeframe"]) * 1000, contents)
            )
    yield from (sorted(p, key=lambda e: e[1]) for p in pages.values() if len(p) >= 16)


def record(log: EventLog, visits: list[Visit]) -> list[int]:
    """Write the visits down one after another; returns the page instances for which the trigger fired."""
    triggers = TriggerSet(log.catalog)
    triggers.add("ipv", "page_enter@item ~ page_exit@item scope page")
    late = START
    for visit in visits:
        shift = late - visit[0][1]  # one device: pages follow one another
        log.append("page_enter", "item", ts=late)
        for name, ts, contents in visit:
            log.append(name, "item", contents, ts=ts + shift)
        end = visit[-1][1] + shift + 270_000
        log.append("page_exit", "item", ts=end)
        late = end + 1_000_000
    ends = {f.seq for f in triggers.replay(log)}
    return [e.page_instance for e in log.read() if e.seq in ends]


def fitted(features: npt.NDArray[np.float32]) -> Model:
    """An encoder of two dense layers: random directions, then the principal components of what they show."""
    rng = np.random.default_rng(0)
    mean, deviation = features.mean(axis=0), features.std(axis=0) + 1.0
    first = rng.standard_normal((HIDDEN, IPV_FLOATS)) / np.sqrt(IPV_FLOATS) / deviation
    hidden = np.tanh((features - mean) @ first.T)
    padded = np.vstack([hidden - hidden.mean(axis=0), np.zeros((HIDDEN, HIDDEN))])
    _, _, directions = np.linalg.svd(padded, full_matrices=False)
    second = directions[:IPV_CODE]
    layers = [(first, -first @ mean), (second, -second @ hidden.mean(axis=0))]
    return ipv_network([(w.astype(np.float32), b.astype(np.float32)) for w, b in layers])


def beside(size: int, raw: int, packed: int) -> str:
    """How much less than the raw events, and beside zlib."""
    zlib_says = f"{1 - size / packed:.0%} less" if size <= packed else f"{size / packed:.1f} times as much"
    return f"{1 - size / raw:.1%} less; {zlib_says} beside zlib"


def report(name: str, visits: list[Visit], folder: str) -> tuple[int, int]:
    """Events in, codes out; prints the sizes, returns (bytes of raw JSON, bytes sent)."""
    with EventLog(Path(folder) / "log", catalog(), max_age_s=1e9) as log:
        instances = record(log, visits)
        features = np.stack([ipv_feature(log, i) for i in instances])
        raw = [e for e in log.read() if e.page_instance in set(instances)]
    texts = json.dumps([e._asdict() for e in raw]).encode()
    session = fitted(features).session(threads=1)
    graph = Graph().encode("code", session, "feature")
    gate = EgressGate(Path(folder) / "ledger")
    field = FeatureField("code", ColumnType.VECTOR, IPV_CODE, Sensitivity.PERSONAL)
    gate.allow("ipv", FeaturePolicy("code", [field], 1 << 30, 1 << 20))
    rows = Batch({"ts": [START] * len(instances), "feature": list(features)})
    codes = graph.run(rows)
    sent = gate.send("ipv", "code", codes)
    pages, n = len(instances), len(texts)
    code_bytes = sum(c.nbytes for c in codes.columns["code"])
    # What a device could send without any feature: on short pages that is less than 332 floats.
    packed = len(zlib.compress(texts, 9))
    print(f"{name}: {pages} pages, {len(raw)} events")
    print(f"  raw events  {n / pages:9.0f} bytes of JSON a page, {packed / pages:.0f} after zlib")
    print(f"  feature     {features.nbytes / pages:9.0f} bytes, {beside(features.nbytes, n, packed)}")
    print(f"  code        {code_bytes / pages:9.0f} bytes, {beside(code_bytes, n, packed)}")
    print(f"  sent        {len(sent) / pages:9.0f} bytes a page with times and framing, as the ledger says")
    assert gate.ledger[-1].bytes == len(sent)
    return n, len(sent)


def main() -> None:
    data = Path(os.environ.get("WALLE_TEST_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
    sources = {"generated": iter([generated()])}
    for make in (of_open_bandit, of_clickstream):
        name = make.__name__.removeprefix("of_")
        if (data / name).is_dir():
            sources[name] = make(data)
    for name, visits in sources.items():
        with tempfile.TemporaryDirectory() as folder:
            report(name, list(islice(visits, 200)), folder)
    if len(sources) == 1:
        print(f"no data sets in {data}: set WALLE_TEST_DATA to a folder that holds them", file=sys.stderr)


if __name__ == "__main__":
    main()
